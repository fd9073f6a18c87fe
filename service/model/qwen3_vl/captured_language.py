"""The decoder on CUDA in half precision: last rows of short batches of texts by graphs, all else as it is anywhere."""

from typing import Any

import torch
from transformers.modeling_utils import PreTrainedModel

from cenote_kernels import rms_norm
from service.model.linear.products import TORCHS, Products
from service.model.packed import varlen_attention
from service.model.packed.captured import CapturedForwards, Inputs
from service.model.packed.graph_cache import GraphCache
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.prefix_cache import NO_PREFIXES
from service.model.qwen3_vl.language import LanguageModel, Placement, run_last_layer, run_layer


def load_decoder(stock: PreTrainedModel, products: Products = TORCHS) -> LanguageModel:
    """The decoder of a stock module with torch's products, or with adapters around them."""
    decoder: Any = getattr(stock, "language_model", stock)
    layer = decoder.layers[0]
    weight = layer.self_attn.o_proj.weight
    if products is TORCHS and varlen_attention.takes(layer.self_attn.head_dim, weight.dtype, weight.device):
        return CapturedLanguageModel(stock, sum(one.numel() for one in layer.parameters()))
    return LanguageModel(stock, products=products)


class CapturedLanguageModel(LanguageModel):
    """A `LanguageModel`."""

    def __init__(self, stock: PreTrainedModel, layer_numbers: int) -> None:
        super().__init__(stock)
        self._captured = CapturedForwards(self.last_rows, GraphCache(self.device), layer_numbers, gives_prompts=True)

    @torch.inference_mode()
    def forward(self, batch: PackedBatch, *, last_only: bool = False) -> torch.Tensor:
        """See `LanguageModel.forward`."""
        if not last_only or len(batch.visual.index):
            return super().forward(batch, last_only=last_only)
        plain = super().forward
        return self._captured.run(batch, lambda: plain(batch, last_only=True))

    def last_rows(self, inputs: Inputs) -> torch.Tensor:
        """`[num_prompts, hidden_size]`, without a look at the host."""
        states = self.embed_tokens(inputs.token_ids)
        positions = inputs.position_ids
        counted = positions[1:].unsqueeze(1) if len(positions) > 1 else positions
        kind = states.new_empty(0, dtype=torch.float32)
        cos, sin = (table[0, :, None, : table.shape[-1] // 2].contiguous() for table in self.rotary(kind, counted))
        placement = Placement(inputs.bounds, (), None)
        for layer in self.layers[:-1]:
            run_layer(layer, states, (cos, sin), placement, NO_PREFIXES)
        few = run_last_layer(self.layers[-1], states, (cos, sin), placement, inputs.last, NO_PREFIXES)
        return rms_norm(few, *self.norm, torch.empty_like(few))
