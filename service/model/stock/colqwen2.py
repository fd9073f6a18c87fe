"""ColQwen2 and ColQwen2.5 in transformers' form: `LateVlm` on the modules of `ColQwen2ForRetrieval`.

The reference hands embeddings and no ids to its decoder, which then counts 0, 1, 2, ... also through an image.
"""

from pathlib import Path
from typing import Any, cast

import torch
from transformers import ColQwen2ForRetrieval, PreTrainedModel

from cenote_kernels import PoolingMode
from service.model.embedding_model import Probe
from service.model.load import load_stock
from service.model.packed.packed_attention import stock_attention
from service.model.stock.late_vlm import LateVlm
from service.model.stock.still_patches import StillPatches


class ColQwen2(LateVlm):
    """An `EmbeddingModel` whose profile's pooling is `multi_vector`."""

    def __init__(self, retrieval: PreTrainedModel, patches: StillPatches) -> None:
        self._retrieval = cast(Any, retrieval)
        super().__init__(self._retrieval.vlm, patches, self._retrieval.embedding_proj_layer, counts_plainly=True)

    @classmethod
    def load(  # type: ignore[override]  # how it numbers positions is no choice
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
    ) -> "ColQwen2":
        """From a checkpoint's folder; see `load_stock`."""
        retrieval = load_stock(cast(type[PreTrainedModel], ColQwen2ForRetrieval), folder, device, dtype)
        patches = StillPatches.of_checkpoint(folder, cast(Any, retrieval.config).vlm_config.vision_config)
        return cls(retrieval, patches)

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
