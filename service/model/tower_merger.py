"""The merger behind the vision tower, and each of its deepstack levels: four patches side by side to one token."""

import torch
from torch.nn.functional import gelu
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionPatchMerger

from service.model.linear import fuse
from service.model.product import MakeProduct


class TowerMerger:
    """``W₂ gelu(W₁ x)`` with x the norm of four patches, or of each of them before they stand side by side.

    Args:
        merger: the stock one, whose weights these are.
        make: how its products are run.

    Source: transformers `Qwen3VLVisionPatchMerger.forward`.
    """

    def __init__(self, merger: Qwen3VLVisionPatchMerger, make: MakeProduct) -> None:
        self._norm = merger.norm
        self._norms_four = merger.use_postshuffle_norm
        self._width = merger.hidden_size
        self._widen, self._narrow = make(fuse([merger.linear_fc1])), make(fuse([merger.linear_fc2]))

    def merge(self, states: torch.Tensor) -> torch.Tensor:
        """`[patches, hidden]` to `[patches / 4, out_hidden]`."""
        four = states.view(-1, self._width)
        normed = self._norm(four) if self._norms_four else self._norm(states).view_as(four)
        wide = gelu(self._widen.write(normed, torch.empty_like(normed)))
        return self._narrow.write(wide, wide.new_empty(len(wide), self._narrow.num_outputs))
