"""Matrices of a float32 model on the CPU that are kept in the bfloat16 of their checkpoint.

In: a stock module in float32. Out: the same module with half the bytes; its own forward cannot be run any more.
"""

from typing import Final

import torch

from service.model.bf16_gemm import Gemm
from service.model.bf16x3_linear import Bf16x3Linear, Scratch, is_bfloat16
from service.model.linear import Linear
from service.model.product import Product

LEAST_NUMBERS: Final = 1 << 19
"""Smaller matrices stay as they are: splitting their rows costs what three products save."""


class MakeBf16x3:
    """A `MakeProduct`: three products for a weight in bfloat16, torch's one for any other.

    Args:
        gemm: a product of bfloat16 that adds up in float32.
    """

    def __init__(self, gemm: Gemm) -> None:
        self._gemm = gemm
        self._scratch = Scratch()

    def __call__(self, linear: Linear) -> Product:
        """The product over this weight."""
        return Bf16x3Linear(linear, self._gemm, self._scratch) if linear.weight.dtype == torch.bfloat16 else linear


@torch.no_grad()
def keep_bfloat16(module: torch.nn.Module) -> float:
    """Turn each large matrix of linear layers whose numbers are bfloat16's into bfloat16, one after the other.

    Returns:
        the share of all matrices' numbers that are now.
    """
    num_kept = num_all = 0
    for layer in module.modules():
        if isinstance(layer, torch.nn.Linear):
            num_all += layer.weight.numel()
            if layer.weight.numel() >= LEAST_NUMBERS and is_bfloat16(layer.weight):
                num_kept += layer.weight.numel()
                layer.weight = torch.nn.Parameter(layer.weight.bfloat16(), requires_grad=False)
    return num_kept / max(1, num_all)
