"""Matrix products by our own kernel for processors, with what follows a product computed inside it.

The weight is packed once, and any number of rows is multiplied as it is: there is no code to be written for it and
nothing to be filled.
"""

import torch

from cenote_kernels.cpu.product import multiply, pack
from service.model.linear.linear import Linear, PackedProduct

NATIVE_ROWS = 516
"""Rows of a block: two of the kernel's items."""


class NativeLinear(PackedProduct):
    """A `Product` over a packed weight."""

    def __init__(self, linear: Linear) -> None:
        self.num_outputs = linear.num_outputs
        self._weight = pack(linear.weight, linear.bias)

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return multiply(x, self._weight, memory)

    def project_new(self, x: torch.Tensor) -> torch.Tensor:
        """``x Wᵀ + b`` in new memory."""
        return multiply(x, self._weight, x.new_empty(len(x), self.num_outputs))

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return multiply(x, self._weight, residual, "add")

    def project_gelu_tanh(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return multiply(x, self._weight, memory, "gelu_tanh")

    def project_gelu(self, x: torch.Tensor) -> torch.Tensor:
        """``gelu(x Wᵀ + b)``, the exact one, by the error function."""
        return multiply(x, self._weight, x.new_empty(len(x), self.num_outputs), "gelu_erf")


class NativeGated:
    """A `GatedProduct` in one product, whose panels hold gate and up side by side."""

    def __init__(self, both: Linear) -> None:
        self._weight = pack(both.weight, both.bias, is_gated=True)

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """See `GatedProduct`."""
        return multiply(x, self._weight, x.new_empty(len(x), self._weight.num_outputs), "gate")
