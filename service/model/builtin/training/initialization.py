"""The initial weights of the built-in model, scaled to its small widths."""

import math
from typing import Final

import torch

_RESIDUAL: Final = ("o_proj.weight", "down_proj.weight", "attn.proj.weight", "mlp.linear_fc2.weight")
"""Weights that write into the residual stream; halved, so that a token still counts behind three blocks."""


def _waves(side: int, width: int) -> torch.Tensor:
    """Sines and cosines of row and column, half a wave to three waves per image: `[side * side, width]`.

    Smooth position embeddings keep their meaning when the grid is interpolated to an image's size; random ones do not.
    """
    place = torch.linspace(-0.5, 0.5, side)[:, None] * torch.linspace(0.5, 3, width // 4) * 2 * math.pi
    line = torch.cat([place.sin(), place.cos()], dim=1)
    grid = torch.cat([line[:, None].expand(-1, side, -1), line[None].expand(side, -1, -1)], dim=2)
    return grid.reshape(side * side, width)


@torch.no_grad()
def initialize(model: torch.nn.Module) -> None:
    """Scale the initial weights to a small model, in place.

    Matrices get 1 / sqrt(inputs), token embeddings the scale of the blocks, position embeddings smooth waves. The
    library's 0.02 is meant for widths in the thousands; here blocks and positions would have almost no effect.
    """
    for name, weight in model.named_parameters():
        if "pos_embed" in name:
            weight.copy_(_waves(math.isqrt(len(weight)), weight.shape[1]))
        elif "embed_tokens" in name:
            weight.normal_(0, 0.5)
        elif weight.ndim >= 2:
            weight.normal_(0, weight[0].numel() ** -0.5)
        if name.endswith(_RESIDUAL):
            weight.mul_(0.5)
