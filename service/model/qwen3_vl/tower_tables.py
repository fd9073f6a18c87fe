"""The vision tower's positions and rotary angles of a grid, which depend on no pixel, kept per grid."""

from collections import OrderedDict
from typing import NamedTuple

import torch
from transformers import Qwen3VLVisionModel

PATCH = 16
"""Pixels along one side of a patch."""
MERGE = 2
"""Patches along one side of a visual token."""
MAX_BYTES = 64 << 20
"""Of all tables that are kept: those of the true 2B shape at 1024 × 1024 pixels take 18 MB in float32."""


class GridTables(NamedTuple):
    """Of one grid, rows in merge order.

    Attributes:
        position: `[patches, hidden]`: the learned embeddings, resampled, plus the bias of the patch projection.
        cos: `[patches, head_dim / 2]`, float32.
        sin: `[patches, head_dim / 2]`, float32.
    """

    position: torch.Tensor
    cos: torch.Tensor
    sin: torch.Tensor


class TowerTables:
    """Makes the tables of a grid once; the grids least recently seen go first.

    Attributes:
        num_bytes: of the kept tables.
    """

    def __init__(self, visual: Qwen3VLVisionModel) -> None:
        config = visual.config
        self._learned = visual.pos_embed.weight
        bias, rope = visual.patch_embed.proj.bias, config.rope_parameters
        assert bias is not None  # the architecture has both
        assert rope is not None
        self._bias = bias
        head_dim = config.hidden_size // config.num_heads
        exponents = torch.arange(0, head_dim // 2, 2, dtype=torch.float32) / (head_dim // 2)
        self._frequencies = (1.0 / rope["rope_theta"] ** exponents).to(self._learned.device)
        self._kept: OrderedDict[tuple[int, int], GridTables] = OrderedDict()
        self.num_bytes = 0

    def of(self, height: int, width: int) -> GridTables:
        """Tables of a still image."""
        grid = (height, width)
        if grid in self._kept:
            self._kept.move_to_end(grid)
            return self._kept[grid]
        index = torch.arange(height * width, device=self._learned.device)
        walk = index.view(height // MERGE, MERGE, width // MERGE, MERGE).transpose(1, 2).flatten()
        row, column = walk // width, walk % width
        angles = torch.cat([row[:, None] * self._frequencies, column[:, None] * self._frequencies], dim=-1)
        position = self._resampled(height, width, row, column).to(self._learned.dtype) + self._bias
        made = self._kept[grid] = GridTables(position, angles.cos(), angles.sin())
        self.num_bytes += sum(table.nbytes for table in made)
        while self.num_bytes > MAX_BYTES and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self.num_bytes -= sum(table.nbytes for table in oldest)
        return made

    def _resampled(self, height: int, width: int, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        """Bilinear over the square of learned embeddings, corners on corners, in float32.

        Source: transformers `get_vision_interpolation_indices_and_weights`, align_corners.
        """
        side = int(len(self._learned) ** 0.5)
        taps = []  # on each axis: the two learned neighbors of each place, and how far it is towards the second
        for length, index in ((height, row), (width, column)):
            places = index.float() * (side - 1) / max(1, length - 1)
            low = places.long()
            taps.append((low, (low + 1).clamp(max=side - 1), places - low))
        (top, bottom, down), (left, right, along) = taps
        total = torch.zeros(len(row), self._learned.shape[1], device=row.device)
        for at, vertical in ((top, 1 - down), (bottom, down)):
            for beside, horizontal in ((left, 1 - along), (right, along)):
                total += self._learned[at * side + beside] * (vertical * horizontal)[:, None]
        return total
