"""The vision tower on CUDA: images of a size that comes again are encoded by a graph."""

from typing import TYPE_CHECKING

import torch

from service.model.linear.products import TORCHS, Products
from service.model.packed.graph_cache import GraphCache
from service.model.qwen3_vl.tower_block import MERGE, PATCH
from service.model.qwen3_vl.vision import VisionTower

if TYPE_CHECKING:
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLModel

MAX_PIXELS = 1 << 21
"""Of a larger image the device takes longer than the host needs to launch its kernels."""


def load_tower(stock: "Qwen3VLModel", products: Products = TORCHS) -> VisionTower:
    """The tower of a stock module with torch's products, or with adapters around them."""
    is_captured = products is TORCHS and stock.device.type == "cuda" and not torch.version.hip
    return CapturedTower(stock) if is_captured else VisionTower(stock, products)


class CapturedTower(VisionTower):
    """A `VisionTower`."""

    def __init__(self, model: "Qwen3VLModel") -> None:
        super().__init__(model)
        self._graphs = GraphCache(self.device)

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """See `VisionTower.encode`."""
        plain = super().encode
        height, width = pixels.shape[-3:-1]
        if height * width > MAX_PIXELS:
            return plain(pixels)
        tables = self._tables.of(height // PATCH, width // PATCH)

        def forward(pixels: torch.Tensor) -> torch.Tensor:
            assert tables  # a graph reads them wherever they were, so they stay as long as it does
            return plain(pixels)

        num_rows = height * width // (PATCH * MERGE) ** 2
        return self._graphs.run(pixels.shape, lambda: pixels, forward, lambda: plain(pixels), num_rows=num_rows)
