"""Matrix products over a weight in oneDNN's own layout, with what follows a product computed inside it.

torch's product brings a weight into the layout of its kernel on every call, and leaves activation and residual to
passes of their own. Here that is done once, and oneDNN's product fuses both; it is what inductor's freezing makes of a
linear layer, and needs no compiler.

oneDNN writes machine code for each number of rows: 2 ms and 2.5 MB for the four products of a layer, again and again
where prompts are of all lengths. So rows come in the few numbers that `padded_rows` gives.

`cpu_backend.py` says where this is the faster way.

Source: torch `aten/src/ATen/native/mkldnn/Linear.cpp`; oneDNN's developer guide, inner product and post-ops.
"""

from typing import Final, cast

import torch
from torch.nn import functional

from service.model.linear.linear import Linear, PackedProduct, Product

LAYOUT_ROWS: Final = 256
"""Rows that the layout is chosen for; others are as fast in it."""

PREPACKED_ROWS: Final = 512
"""Rows of a block: as fast as more of them, and there is code for few numbers of rows."""
_LEAST_STEP: Final = 2
_MANY_ROWS: Final = 256
"""From so many rows on the steps are half as large: padding costs more there than code."""


def padded_rows(num_rows: int) -> int:
    """The next number of rows that there is code for: multiples of 2 up to 16, then four for each doubling.

    Eight from `_MANY_ROWS` on. So more than 8 rows grow by a quarter at most, and many by an eighth.
    """
    octave = 1 << (num_rows - 1).bit_length() >> 1
    step = max(_LEAST_STEP, octave // (8 if octave >= _MANY_ROWS else 4))
    return -(-num_rows // step) * step


def whole_rows(most: int) -> int:
    """The largest number of rows, up to `most`, that there is code for; 1 where there is none."""
    octave = 1 << most.bit_length() - 1
    step = max(_LEAST_STEP, octave // (8 if octave >= _MANY_ROWS else 4))
    return max(1, most // step * step)


class PrepackedLinear(PackedProduct):
    """A `Product` that has a copy of the weight, in another order, and gives every result in memory of its own.

    Attributes:
        weight: in oneDNN's layout.
        bias: `[outputs]`, or None.
        pointwise: oneDNN's products: `default` ends in a function of each number, `binary` in an operation.
    """

    def __init__(self, linear: Linear) -> None:
        self.num_outputs = linear.num_outputs
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), LAYOUT_ROWS)
        self.pointwise = torch.ops.mkldnn._linear_pointwise
        self.bias = None if linear.bias is None else linear.bias.detach()

    def project(self, x: torch.Tensor, _memory: torch.Tensor) -> torch.Tensor:
        """``x Wᵀ + b``, `[..., outputs]`."""
        return cast(torch.Tensor, self.pointwise.default(x, self.weight, self.bias, "none", [], ""))

    def project_new(self, x: torch.Tensor) -> torch.Tensor:
        """The same."""
        return cast(torch.Tensor, self.pointwise.default(x, self.weight, self.bias, "none", [], ""))

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """``residual + x Wᵀ + b``; `residual` stays as it is."""
        return cast(torch.Tensor, self.pointwise.binary(x, residual, self.weight, self.bias, "add"))

    def project_gelu_tanh(self, x: torch.Tensor, _memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return cast(torch.Tensor, self.pointwise.default(x, self.weight, self.bias, "gelu", [], "tanh"))

    def project_gelu(self, x: torch.Tensor) -> torch.Tensor:
        """``gelu(x Wᵀ + b)``, the exact one, by the error function."""
        return cast(torch.Tensor, self.pointwise.default(x, self.weight, self.bias, "gelu", [], "none"))


class PaddedLinear(Product):
    """A `Product` for any number of rows: those that there is code for as they are, others in blocks.

    The last block is filled up to a number of rows that there is code for.
    """

    def __init__(self, linear: Linear) -> None:
        self._product = PrepackedLinear(linear)
        self.num_outputs = linear.num_outputs

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        if _has_code(len(x)):
            return self._product.project(x, memory)
        for rows in _blocks_of(x):
            memory[rows] = self._product.project_new(_padded(x[rows]))[: len(x[rows])]
        return memory

    def project_gelu_tanh(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        if _has_code(len(x)):
            return self._product.project_gelu_tanh(x, memory)
        for rows in _blocks_of(x):
            memory[rows] = self._product.project_gelu_tanh(_padded(x[rows]), memory)[: len(x[rows])]
        return memory

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        if _has_code(len(x)):
            return self._product.project_add(x, residual)
        for rows in _blocks_of(x):
            residual[rows] += self._product.project_new(_padded(x[rows]))[: len(x[rows])]
        return residual


def _has_code(num_rows: int) -> bool:
    return num_rows <= PREPACKED_ROWS and padded_rows(num_rows) == num_rows


def _blocks_of(x: torch.Tensor) -> list[slice]:
    return [slice(start, start + PREPACKED_ROWS) for start in range(0, len(x), PREPACKED_ROWS)]


def _padded(x: torch.Tensor) -> torch.Tensor:
    num_padding = padded_rows(len(x)) - len(x)
    return functional.pad(x, (0, 0, 0, num_padding)) if num_padding else x


class PrepackedGated:
    """A `GatedProduct` in two products: the first computes SiLU as it ends, the second multiplies by that."""

    def __init__(self, both: Linear) -> None:
        half = both.num_outputs // 2
        self._gate, self._up = PrepackedLinear(both.part(0, half)), PrepackedLinear(both.part(half, 2 * half))

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """See `GatedProduct`."""
        gate = self._gate.pointwise.default(x, self._gate.weight, self._gate.bias, "swish", [], "")
        return cast(torch.Tensor, self._gate.pointwise.binary(x, gate, self._up.weight, self._up.bias, "mul"))
