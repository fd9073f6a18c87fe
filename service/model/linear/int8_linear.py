"""The decoder's matrix products in int8 on the CPU: a quarter of the memory, several times the speed, not exact.

Weights are quantized once, symmetric and per output; rows while it runs, symmetric and each by itself, so that no
request's numbers depend on what else is in its batch. Products add up in int32. `service.engine.startup.weight_formats`
says whether a model bears it.
"""

from typing import Final, cast

import torch

from service.model.linear.linear import Linear

GREATEST: Final = 127
_ZERO: Final = 128
"""Unsigned rows: with signed ones oneDNN takes 5 ms for a product of one row, a hundred times as long."""
_LEAST_SCALE: Final = 1e-30
"""For rows of zeros: without, they would be divided by nothing."""


class Int8Linear:
    """``out[i] = s_i · t · (round(x_i / s_i) · round(W / t)ᵀ)``; s_i by row, t by output, both greatest number / 127.

    Attributes:
        num_outputs: width of what comes out.
    """

    def __init__(self, linear: Linear) -> None:
        if linear.bias is not None:
            raise ValueError("--weights int8: this model's decoder has biases, and int8 is made for those without")
        self.num_outputs = linear.num_outputs
        self._scales = _scales(linear.weight).squeeze(1)
        integers = (linear.weight / self._scales[:, None]).round_().to(torch.int8)
        self._packed = torch.ops.onednn.qlinear_prepack(integers, None)
        self._zero_points = torch.zeros(self.num_outputs, dtype=torch.int64)

    def write(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Write the product; `x` is `[rows, inputs]`, `out` `[rows, outputs]`, both float32."""
        scales = _scales(x)
        return torch.mul(self._multiply(x, scales), scales, out=out)

    def add(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Add the product to `out`."""
        scales = _scales(x)
        return out.addcmul_(self._multiply(x, scales), scales)

    def _multiply(self, x: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        integers = (x / scales).round_().add_(_ZERO).to(torch.uint8)
        multiply = torch.ops.onednn.qlinear_pointwise
        weight = (self._packed, self._scales, self._zero_points)
        return cast(torch.Tensor, multiply(integers, 1.0, _ZERO, *weight, None, 1.0, 0, torch.float32, "none", [], ""))


def _scales(rows: torch.Tensor) -> torch.Tensor:
    """The size of one step of the integers in each row, `[rows, 1]`; not finite where the row is not."""
    least, greatest = torch.aminmax(rows, dim=-1, keepdim=True)
    return torch.maximum(greatest, least.neg()).div_(GREATEST).clamp_min_(_LEAST_SCALE)
