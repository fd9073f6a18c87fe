"""Late interaction over Qwen2-VL and Qwen2.5-VL: a projection gives each token of a prompt a vector of its own.

The tower and the packed decoder are `StockVlm`'s; nothing is pooled.
"""

from pathlib import Path
from typing import cast

import torch
from transformers import AutoModel, PreTrainedModel

from service.checkpoint.late.token_projection import find_projection
from service.errors import ModelError
from service.model.embedding_model import Probe
from service.model.load import load_stock
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import plan_segments
from service.model.stock.lora import merge_adapter
from service.model.stock.still_patches import StillPatches
from service.model.stock.stock_vlm import StockVlm
from service.model.stock.token_linear import load_projection


class LateVlm(StockVlm):
    """An `EmbeddingModel` whose profile's pooling is `multi_vector`.

    Args:
        stock: a module with `visual`, `language_model` and `get_image_features`.
        projection: of hidden states to the numbers of a vector.
        counts_plainly: see `StockVlm`.
    """

    def __init__(
        self,
        stock: PreTrainedModel,
        patches: StillPatches,
        projection: torch.nn.Linear,
        *,
        counts_plainly: bool = False,
    ) -> None:
        super().__init__(stock, patches, counts_plainly=counts_plainly)
        self.projection = projection
        self.hidden_size = projection.out_features
        self.num_parameters += sum(parameter.numel() for parameter in projection.parameters())

    @classmethod
    def load_whole(cls, folder: Path, device: torch.device, dtype: torch.dtype | None) -> "LateVlm":
        """From a checkpoint's folder, its adapter merged where it has one; see `load_stock`."""
        found = find_projection(folder)
        if found is None:
            raise ModelError("internal_error", f"{folder.name} has no projection of tokens")
        stock = load_stock(cast(type[PreTrainedModel], AutoModel), folder, device, dtype, elsewhere=found.tensors)
        projection = load_projection(found, device, stock.dtype)
        merge_adapter(folder, stock, {found.name: projection})
        patches = StillPatches.of_checkpoint(folder, stock.config.vision_config)
        return cls(stock, patches, projection)

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``projection(decoder(batch))``, `[total_tokens, 128]`: template, text and visual tokens alike."""
        plan = plan_segments(
            batch.token_ids.numpy(), batch.segment_lengths, batch.visual_index.numpy(), may_share=False
        )
        rows = torch.from_numpy(plan.row).to(self.device)
        vectors: torch.Tensor = self.projection(self._states(batch, plan))
        return vectors[rows].float()

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """The projection over the stock module's own forward."""
        vectors: torch.Tensor = self.projection(self.stock_states(probe))
        return vectors
