"""ColQwen2 as the engine runs it: Qwen2-VL, and a projection that gives each token of a prompt a vector of its own.

The tower, the packed decoder and its plain positions are `StockVlm`'s. The reference hands embeddings and no ids to its
decoder, which then counts 0, 1, 2, ... also through an image. Nothing is pooled.
"""

from pathlib import Path
from typing import Any, cast

import torch
from transformers import ColQwen2ForRetrieval, PreTrainedModel

from cenote_kernels import PoolingMode
from service.model.embedding_model import Probe
from service.model.load import load_stock
from service.model.packed.packed_attention import stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import plan_segments
from service.model.stock.still_patches import StillPatches
from service.model.stock.stock_vlm import StockVlm


class ColQwen2(StockVlm):
    """An `EmbeddingModel` whose profile's pooling is `multi_vector`."""

    def __init__(self, retrieval: PreTrainedModel, patches: StillPatches) -> None:
        self._retrieval = cast(Any, retrieval)
        super().__init__(self._retrieval.vlm, patches, counts_plainly=True)
        self.hidden_size = self._retrieval.embedding_dim
        self.num_parameters = sum(parameter.numel() for parameter in retrieval.parameters())

    @classmethod
    def load(  # type: ignore[override]  # how it numbers positions is no choice
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
    ) -> "ColQwen2":
        """From a checkpoint's folder; see `load_stock`."""
        retrieval = load_stock(cast(type[PreTrainedModel], ColQwen2ForRetrieval), folder, device, dtype)
        patches = StillPatches.of_checkpoint(folder, cast(Any, retrieval.config).vlm_config.vision_config)
        return cls(retrieval, patches)

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``projection(decoder(batch))``, `[total_tokens, 128]`: template, text and visual tokens alike."""
        plan = plan_segments(
            batch.token_ids.numpy(), batch.segment_lengths, batch.visual_index.numpy(), may_share=False
        )
        rows = torch.from_numpy(plan.row).to(self.device)
        vectors: torch.Tensor = self._retrieval.embedding_proj_layer(self._states(batch, plan))
        return vectors[rows].float()

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """All of the stock module's own: scatter, positions, masks, layers, projection, norm."""
        ids = torch.tensor([probe.token_ids], device=self.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if probe.pixels is not None:
            patches = self._patches(torch.from_numpy(probe.pixels)).to(self.device, self.dtype)
            inputs |= {
                "pixel_values": patches[None],
                "image_grid_thw": torch.tensor([probe.grid_thw], device=self.device),
            }
        with stock_attention("sdpa", self._language.config):
            vectors: torch.Tensor = self._retrieval(**inputs, use_cache=False).embeddings[0]
        return vectors
