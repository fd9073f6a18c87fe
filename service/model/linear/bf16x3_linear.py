"""Matrix products of float32 rows with a weight whose numbers are bfloat16's, on a CPU with tiles for bfloat16 (AMX).

A float32 is the sum of three bfloat16, to the last of its 24 bits. The weight is one already: released checkpoints are
stored so. Three products on tiles, added up in float32, are then as exact as the one in float32, in less time and with
half the memory for the weight.

Source: Henry, Tang, Heinecke 2019, Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
Computations (arXiv 1904.06376), which splits both sides.
"""

from collections.abc import Sequence
from typing import Final

import torch

from service.model.linear.bf16_gemm import Gemm
from service.model.linear.linear import Linear, Product

NUM_PARTS: Final = 3
STACKED_ROWS: Final = 256
"""Up to so many rows the parts go through one product, one below the other, which reads the weight once."""
_BLOCK_ROWS: Final = 2048
"""Rows whose parts are in memory at a time."""
_SPLIT_NUMBERS: Final = 1 << 17
"""Numbers that are split at a time: seven passes go over them while they lie in the processor's cache."""
LEAST_NUMBERS: Final = 1 << 19
"""Smaller matrices stay as they are: splitting their rows costs what three products save."""


class Scratch:
    """Memory that all products of a model write to in turn. One thread multiplies at a time.

    Fresh memory would cost page faults each time: a product of 2,048 rows has 50 MB of parts.
    """

    def __init__(self) -> None:
        self._parts = torch.empty(0, dtype=torch.bfloat16)
        self._floats = torch.empty(0)

    def parts(self, *shape: int) -> torch.Tensor:
        """Memory for parts, bfloat16; what the last call gave is written over."""
        self._parts = _at_least(self._parts, shape)
        return self._parts[: torch.Size(shape).numel()].view(shape)

    def floats(self, *shape: int) -> torch.Tensor:
        """Memory for what is left while numbers are split, and then for products, float32; likewise."""
        self._floats = _at_least(self._floats, shape)
        return self._floats[: torch.Size(shape).numel()].view(shape)


def _at_least(numbers: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    num_wanted = torch.Size(shape).numel()
    return numbers if numbers.numel() >= num_wanted else numbers.new_empty(num_wanted)


class Bf16x3Linear(Product):
    """``x Wᵀ + b = x₀ Wᵀ + x₁ Wᵀ + x₂ Wᵀ + b`` where ``x = x₀ + x₁ + x₂`` and all four factors are bfloat16.

    The bias, if any, is float32. `scratch` is shared with the model's other products.
    """

    def __init__(self, linear: Linear, gemm: Gemm, scratch: Scratch) -> None:
        self.num_outputs = linear.num_outputs
        self._weight = linear.weight
        self._bias = linear.bias
        self._gemm = gemm
        self._scratch = scratch

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`; both tensors are float32."""
        return self._multiply(x, memory, 0.0)

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return self._multiply(x, residual, 1.0)

    def _multiply(self, x: torch.Tensor, out: torch.Tensor, beta: float) -> torch.Tensor:
        for some, into in zip(torch.split(x, _BLOCK_ROWS), torch.split(out, _BLOCK_ROWS), strict=True):
            parts = self._scratch.parts(NUM_PARTS, *some.shape)
            split(some, parts, self._scratch)
            if len(some) <= STACKED_ROWS:
                self._multiply_stacked(parts, into, beta)
            else:
                self._gemm(parts[2], self._weight, into, beta)
                self._gemm(parts[1], self._weight, into, 1.0)
                self._gemm(parts[0], self._weight, into, 1.0)
        return out if self._bias is None else out.add_(self._bias)

    def _multiply_stacked(self, parts: torch.Tensor, out: torch.Tensor, beta: float) -> None:
        products = self._scratch.floats(NUM_PARTS, len(out), self.num_outputs)
        self._gemm(parts.flatten(0, 1), self._weight, products.flatten(0, 1), 0.0)
        high, middle, low = products
        total = low.add_(middle).add_(high)
        if beta:
            out.add_(total)
        else:
            out.copy_(total)


def split(x: torch.Tensor, parts: torch.Tensor, scratch: Scratch) -> None:
    """``parts[0] = bf16(x); parts[1] = bf16(x - parts[0]); parts[2] = x - parts[0] - parts[1]``, which is exact.

    Args:
        x: `[rows, inputs]`, float32.
        parts: `[3, rows, inputs]`, bfloat16, written over.
    """
    num_rows = max(1, _SPLIT_NUMBERS // max(1, x.shape[1]))
    rest, wide = scratch.floats(2, min(num_rows, len(x)), x.shape[1])
    for start in range(0, len(x), num_rows):
        some, (high, middle, low) = x[start : start + num_rows], parts[:, start : start + num_rows]
        rest, wide = rest[: len(some)], wide[: len(some)]  # a mixed subtraction takes five times as long as its cast
        torch.sub(some, wide.copy_(high.copy_(some)), out=rest)
        low.copy_(rest.sub_(wide.copy_(middle.copy_(rest))))


def is_bfloat16(weight: torch.Tensor) -> bool:
    """True where bfloat16 holds each number of `weight` exactly."""
    return all(torch.equal(rows.bfloat16().float(), rows) for rows in torch.split(weight, _BLOCK_ROWS))


class MakeBf16x3:
    """A `MakeProduct`: three products for a weight in bfloat16, torch's one for any other."""

    def __init__(self, gemm: Gemm) -> None:
        self._gemm = gemm
        self._scratch = Scratch()

    def __call__(self, linear: Linear) -> Product:
        """The product over this weight."""
        return Bf16x3Linear(linear, self._gemm, self._scratch) if linear.weight.dtype == torch.bfloat16 else linear


@torch.no_grad()
def keep_bfloat16(module: torch.nn.Module) -> float:
    """Turn large matrices of linear layers that bfloat16 holds into it, one by one; their share of all numbers."""
    num_kept = num_all = 0
    for layer in module.modules():
        if isinstance(layer, torch.nn.Linear):
            num_all += layer.weight.numel()
            if layer.weight.numel() >= LEAST_NUMBERS and is_bfloat16(layer.weight):
                num_kept += layer.weight.numel()
                layer.weight = torch.nn.Parameter(layer.weight.bfloat16(), requires_grad=False)
    return num_kept / max(1, num_all)
