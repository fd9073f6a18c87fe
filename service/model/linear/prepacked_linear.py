"""Matrix products over a weight in oneDNN's own layout, with what follows a product computed inside it.

torch's product brings a weight into the layout of its kernel on every call, and leaves activation and residual to
passes of their own. Here that is done once, and oneDNN's product fuses both; it is what inductor's freezing makes of a
linear layer, and needs no compiler.

oneDNN writes machine code for each number of rows: 2 ms and 2.5 MB for the four products of a layer, again and again
where prompts are of all lengths. So rows come in the few numbers that `padded_rows` gives.

`cpu_backend.py` says where this is the faster way.

Source: torch `aten/src/ATen/native/mkldnn/Linear.cpp`; oneDNN's developer guide, inner product and post-ops.
"""

from collections.abc import Callable
from typing import Final, cast

import torch
from torch.nn import functional

from service.model.linear.linear import Linear

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
    step = _step(1 << (num_rows - 1).bit_length() >> 1)
    return -(-num_rows // step) * step


def whole_rows(most: int) -> int:
    """The largest number of rows, up to `most`, that there is code for; 1 where there is none."""
    step = _step(1 << most.bit_length() - 1)
    return max(1, most // step * step)


def _step(octave: int) -> int:
    """Between the numbers of rows from `octave` to twice that."""
    return max(_LEAST_STEP, octave // (8 if octave >= _MANY_ROWS else 4))


class PrepackedLinear:
    """A `Product` that has a copy of the weight, in another order, and gives every result in memory of its own.

    Attributes:
        num_outputs: width of what comes out.
    """

    def __init__(self, linear: Linear) -> None:
        self.num_outputs = linear.num_outputs
        self._weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), LAYOUT_ROWS)
        self._bias = None if linear.bias is None else linear.bias.detach()

    def project(self, x: torch.Tensor, _memory: torch.Tensor | None = None) -> torch.Tensor:
        """``x Wᵀ + b``, `[..., outputs]`."""
        return self._multiply(x, "none", "")

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """``residual + x Wᵀ + b``; `residual` stays as it is."""
        return self._multiply_with(x, residual, "add")

    def project_gelu_tanh(self, x: torch.Tensor, _memory: torch.Tensor | None = None) -> torch.Tensor:
        """See `Product`."""
        return self._multiply(x, "gelu", "tanh")

    def project_gelu(self, x: torch.Tensor) -> torch.Tensor:
        """``gelu(x Wᵀ + b)``, the exact one, by the error function."""
        return self._multiply(x, "gelu", "none")

    def project_silu(self, x: torch.Tensor) -> torch.Tensor:
        """``silu(x Wᵀ + b)``."""
        return self._multiply(x, "swish", "")

    def project_times(self, x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        """``factor · (x Wᵀ + b)``."""
        return self._multiply_with(x, factor, "mul")

    def _multiply(self, x: torch.Tensor, function: str, algorithm: str) -> torch.Tensor:
        unary = torch.ops.mkldnn._linear_pointwise.default
        return cast(torch.Tensor, unary(x, self._weight, self._bias, function, [], algorithm))

    def _multiply_with(self, x: torch.Tensor, other: torch.Tensor, operation: str) -> torch.Tensor:
        binary = torch.ops.mkldnn._linear_pointwise.binary
        return cast(torch.Tensor, binary(x, other, self._weight, self._bias, operation))


class PaddedLinear:
    """A `Product` for any number of rows: those that there is code for as they are, others in blocks.

    The last block is filled up to a number of rows that there is code for.
    """

    def __init__(self, linear: Linear) -> None:
        self._product = PrepackedLinear(linear)
        self.num_outputs = linear.num_outputs

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return self._in_blocks(self._product.project, x, memory)

    def project_gelu_tanh(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return self._in_blocks(self._product.project_gelu_tanh, x, memory)

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        if _has_code(len(x)):
            return self._product.project_add(x, residual)
        for rows in _blocks_of(x):
            residual[rows] += self._product.project(_padded(x[rows]))[: len(x[rows])]
        return residual

    def _in_blocks(
        self, product: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, memory: torch.Tensor
    ) -> torch.Tensor:
        if _has_code(len(x)):
            return product(x)
        for rows in _blocks_of(x):
            memory[rows] = product(_padded(x[rows]))[: len(x[rows])]
        return memory


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
        return self._up.project_times(x, self._gate.project_silu(x))
