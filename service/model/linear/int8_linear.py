"""The decoder's matrix products in int8 on the CPU: a quarter of the memory, several times the speed, not exact.

Weights are quantized once, symmetric and per output; rows while it runs, symmetric and each by itself, so that no
request's numbers depend on what else is in its batch. Products add up in int32. `service.engine.startup.weight_formats`
says whether a model bears it.
"""

from functools import cache
from typing import Final, cast

import torch

from service.model.linear.linear import Linear, Product

GREATEST: Final = 127
GREATEST_IN_16_BITS: Final = 63
_LEAST_SCALE: Final = 1e-30
"""For rows of zeros: without, they would be divided by nothing."""


class Int8Linear(Product):
    """``out[i] = s_i · t · (round(x_i / s_i) · round(W / t)ᵀ)``; t, by output, is its greatest number / 127.

    s_i, by row, is its greatest number / `greatest_row_integer`. Rows are shifted to unsigned integers: with signed
    ones oneDNN takes 5 ms for a product of one row, a hundred times as long.
    """

    def __init__(self, linear: Linear, greatest_row_integer: int | None = None) -> None:
        if linear.bias is not None:
            raise ValueError("--weights int8: this model's decoder has biases, and int8 is made for those without")
        self.num_outputs = linear.num_outputs
        self._greatest = greatest_row_integer or exact_row_integer()
        self._scales = _scales(linear.weight, GREATEST).squeeze(1)
        integers = (linear.weight / self._scales[:, None]).round_().to(torch.int8)
        self._packed = torch.ops.onednn.qlinear_prepack(integers, None)
        self._zero_points = torch.zeros(self.num_outputs, dtype=torch.int64)

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`; both tensors are float32."""
        scales = _scales(x, self._greatest)
        return torch.mul(self._multiply(x, scales), scales, out=memory)

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        scales = _scales(x, self._greatest)
        return residual.addcmul_(self._multiply(x, scales), scales)

    def _multiply(self, x: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        zero = self._greatest + 1
        integers = (x / scales).round_().add_(zero).to(torch.uint8)
        return _product(integers, zero, self._packed, self._scales, self._zero_points)


@cache
def exact_row_integer() -> int:
    """127, or 63 where the processor adds two products in 16 bits, which hold 2 · 127 · 127 and not 2 · 255 · 127.

    Those are x86 processors without VNNI, by vpmaddubsw.
    """
    greatest, num_inputs = 2 * GREATEST + 1, 64
    weight = torch.ops.onednn.qlinear_prepack(torch.full((64, num_inputs), GREATEST, dtype=torch.int8), None)
    rows = torch.full((4, num_inputs), greatest, dtype=torch.uint8)
    product = _product(rows, 0, weight, torch.ones(64), torch.zeros(64, dtype=torch.int64))
    return GREATEST if bool((product == greatest * GREATEST * num_inputs).all()) else GREATEST_IN_16_BITS


def _product(
    rows: torch.Tensor, zero: int, weight: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor
) -> torch.Tensor:
    multiply = torch.ops.onednn.qlinear_pointwise
    packed = (weight, scales, zero_points)
    return cast(torch.Tensor, multiply(rows, 1.0, zero, *packed, None, 1.0, 0, torch.float32, "none", [], ""))


def _scales(rows: torch.Tensor, greatest_integer: int) -> torch.Tensor:
    """The size of one step of the integers in each row, `[rows, 1]`; not finite where the row is not."""
    least, greatest = torch.aminmax(rows, dim=-1, keepdim=True)
    return torch.maximum(greatest, least.neg()).div_(greatest_integer).clamp_min_(_LEAST_SCALE)
