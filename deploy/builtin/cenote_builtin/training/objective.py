"""The losses: symmetric InfoNCE at several matryoshka lengths, without negatives of equal meaning; and two that help.

Row i of the queries belongs to row i of the captions.
"""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from cenote_builtin.architecture import HIDDEN
from cenote_builtin.scenes.batches import NUM_CELL_ATTRIBUTES
from cenote_builtin.training.towers import Features

_CELLS_PER_SIDE = 3


def _info_nce(logits: torch.Tensor) -> torch.Tensor:
    targets = torch.arange(len(logits), device=logits.device)
    return (functional.cross_entropy(logits, targets) + functional.cross_entropy(logits.T, targets)) / 2


def attribute_loss(logits: torch.Tensor, targets: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
    """Binary cross-entropy over the attributes that each row's aspect asks about, the mean per row, then over rows.

    It helps only at the start: sets of shapes and places give InfoNCE almost no gradient before either side knows them.

    Args:
        logits: Float `[n, attributes]`, a linear map of raw vectors.
        targets: Float `[n, attributes]`, zeros and ones.
        asked: Bool `[n, attributes]`.
    """
    losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none") * asked
    return (losses.sum(dim=1) / asked.sum(dim=1)).mean()


def matryoshka_info_nce(
    queries: torch.Tensor,
    captions: torch.Tensor,
    meanings: torch.Tensor,
    inverse_temperature: torch.Tensor,
    dimensions: Sequence[int],
) -> torch.Tensor:
    """Mean over d of InfoNCE between `normalize(queries[:, :d])` and `normalize(captions[:, :d])`.

    Args:
        queries: Float `[n, hidden]`, raw pooled vectors.
        captions: Float `[n, hidden]`, row i the match of query i.
        meanings: Integer `[n]`; equal ids mean the same under the same aspect, so that such a pair is no negative.
        dimensions: Lengths d at which the loss is taken.

    Source: van den Oord et al. 2018 (InfoNCE); Kusupati et al. 2022 (matryoshka representation learning).
    """
    same = meanings[:, None] == meanings[None, :]
    same.fill_diagonal_(fill_value=False)
    total = queries.new_zeros(())
    for length in dimensions:
        left = functional.normalize(queries[:, :length], dim=-1)
        right = functional.normalize(captions[:, :length], dim=-1)
        total = total + _info_nce((left @ right.T * inverse_temperature).masked_fill(same, -torch.inf))
    return total / len(dimensions)


def cell_weights(side_tokens: int) -> torch.Tensor:
    """Share of each visual token in each cell, by area: `[9, side_tokens ** 2]`, every row sums to 1."""
    cell = torch.arange(_CELLS_PER_SIDE)[:, None] / _CELLS_PER_SIDE
    token = torch.arange(side_tokens)[None] / side_tokens
    begin, end = torch.maximum(cell, token), torch.minimum(cell + 1 / _CELLS_PER_SIDE, token + 1 / side_tokens)
    line = (end - begin).clamp(min=0) * _CELLS_PER_SIDE
    return torch.kron(line, line)


class TowerLesson(nn.Module):
    """The vision tower's auxiliary task, before and beside the contrastive one: name the object in each cell.

    One linear map per level, from the mean over a cell to the color, shape and size of its object. A released model
    starts from a trained tower; this task trains one, and its linear maps are discarded afterwards.
    """

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
