"""The vision tower's auxiliary task, before and beside the contrastive one: name the object in each cell of the grid.

A released model starts from a trained tower; this task trains one, and its linear maps are discarded afterwards.
"""

import torch
from torch import nn
from torch.nn import functional

from service.model.builtin.architecture import HIDDEN
from service.model.builtin.scenes.attributes import NUM_CELL_ATTRIBUTES
from service.model.builtin.training.towers import Features

_CELLS_PER_SIDE = 3


def cell_weights(side_tokens: int) -> torch.Tensor:
    """Share of each visual token in each cell, by area: `[9, side_tokens ** 2]`, every row sums to 1.

    Args:
        side_tokens: Visual tokens per side of the square image.
    """
    cell = torch.arange(_CELLS_PER_SIDE)[:, None] / _CELLS_PER_SIDE
    token = torch.arange(side_tokens)[None] / side_tokens
    begin, end = torch.maximum(cell, token), torch.minimum(cell + 1 / _CELLS_PER_SIDE, token + 1 / side_tokens)
    line = (end - begin).clamp(min=0) * _CELLS_PER_SIDE
    return torch.kron(line, line)


class TowerLesson(nn.Module):
    """One linear map per level, from the mean over a cell to the color, shape and size of its object."""

    def __init__(self, num_levels: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(HIDDEN, NUM_CELL_ATTRIBUTES) for _ in range(num_levels))

    def forward(self, features: Features, cells: torch.Tensor) -> torch.Tensor:
        """Binary cross-entropy per cell, the sum over attributes, the mean over cells, images and levels.

        Args:
            cells: Float `[images, 9, attributes]`, zeros and ones.
        """
        weights = cell_weights(features.side_tokens)
        losses = [
            functional.binary_cross_entropy_with_logits(read_out(weights @ level), cells)
            for read_out, level in zip(self.maps, features.levels, strict=True)
        ]
        return torch.stack(losses).mean() * NUM_CELL_ATTRIBUTES
