"""The loss: symmetric InfoNCE at several matryoshka lengths, without negatives of equal meaning; and an auxiliary one.

Row i of the queries belongs to row i of the captions.
"""

from collections.abc import Sequence

import torch
from torch.nn import functional


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
