"""Matrix products of decoder and vision tower: the protocol, and torch's product over the checkpoint's own weight.

A result is in memory that the caller offers, or in the product's own where that costs less. `native_linear.py`,
`prepacked_linear.py`, `bf16x3_linear.py` and `int8_linear.py` have other implementations; `cpu_backend.py` chooses.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import torch

from cenote_kernels import gate


class Product:
    """A matrix product with a fixed weight."""

    num_outputs: int

    def project(self, x: torch.Tensor, memory: torch.Tensor, /) -> torch.Tensor:
        """``x Wᵀ + b``; `x` is `[rows, inputs]`, the result `[rows, num_outputs]`: `memory`, or memory of its own."""
        raise NotImplementedError

    def project_add(self, x: torch.Tensor, residual: torch.Tensor, /) -> torch.Tensor:
        """``residual + x Wᵀ + b``: `residual`, written over, or memory of its own."""
        raise NotImplementedError

    def project_gelu_tanh(self, x: torch.Tensor, memory: torch.Tensor, /) -> torch.Tensor:
        """``gelu(x Wᵀ + b)``, the one by tanh; otherwise as `project`."""
        return gelu_(self.project(x, memory))


class PackedProduct(Product):
    """A `Product` that stands in for a stock module's layer, too."""

    def project_new(self, x: torch.Tensor, /) -> torch.Tensor:
        """``x Wᵀ + b`` in new memory."""
        raise NotImplementedError

    def project_gelu(self, x: torch.Tensor, /) -> torch.Tensor:
        """``gelu(x Wᵀ + b)``, the exact one, by the error function."""
        raise NotImplementedError


class Linear(Product):
    """A `Product` as torch computes it.

    Attributes:
        weight: `[outputs, inputs]`.
        bias: `[outputs]`, or None.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        self.weight = weight
        self.bias = bias
        self.num_outputs = weight.shape[0]
        self._transposed = weight.t()

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        if self.bias is None:
            return torch.mm(x, self._transposed, out=memory)
        return torch.addmm(self.bias, x, self._transposed, out=memory)

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        residual.addmm_(x, self._transposed)
        return residual if self.bias is None else residual.add_(self.bias)

    def project_gelu_tanh(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`; in half precision on CUDA within the product, where it is GELU's form by tanh."""
        if self.bias is None or not x.is_cuda or x.dtype == torch.float32:
            return super().project_gelu_tanh(x, memory)
        return torch._addmm_activation(  # pyright: ignore[reportPrivateImportUsage]
            self.bias, x, self._transposed, use_gelu=True, out=memory
        )

    def part(self, start: int, stop: int) -> "Linear":
        """The outputs `start` to `stop` as a product of their own; shares the weight's memory."""
        return Linear(self.weight[start:stop], None if self.bias is None else self.bias[start:stop])


MakeProduct = Callable[[Linear], Product]
"""Builds the product that runs in the place of a checkpoint's."""


def gelu_(x: torch.Tensor) -> torch.Tensor:
    """``x = x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))``. Source: Hendrycks and Gimpel 2016 (arXiv 1606.08415)."""
    return cast(torch.Tensor, torch.ops.aten.gelu_(x, approximate="tanh"))


def stock_product(linear: Linear) -> Product:
    """Torch's own product."""
    return linear


class GatedProduct(Protocol):
    """``silu(x W₁ᵀ) · (x W₂ᵀ)`` with fixed weights."""

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """`[rows, inputs]` to `[rows, outputs]`, which may be a part of wider rows."""
        ...


class Gated:
    """A `GatedProduct`: both products as one, whose outputs stand side by side."""

    def __init__(self, both: Product) -> None:
        self._both = both

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """See `GatedProduct`."""
        return gate(self._both.project(x, x.new_empty(len(x), self._both.num_outputs)))


def fuse(modules: Sequence[torch.nn.Linear]) -> Linear:
    """Products of the same rows as one: their outputs stand side by side.

    The modules keep working: their parameters become views of the fused matrix, so that memory holds each weight once.
    Fusing what is fused already changes nothing.
    """
    with torch.no_grad():
        weight = _side_by_side(modules, "weight")
        bias = _side_by_side(modules, "bias") if modules[0].bias is not None else None
    return Linear(weight, bias)


def give_back(module: torch.nn.Module) -> None:
    """Free the matrices of the linear layers below `module`, whose forward cannot be run any more."""
    for layer in module.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight = torch.nn.Parameter(layer.weight.new_empty(0), requires_grad=False)


def _side_by_side(modules: Sequence[torch.nn.Linear], name: str) -> torch.Tensor:
    parts: list[torch.Tensor] = [getattr(module, name).detach() for module in modules]
    num_rows = sum(len(part) for part in parts)
    first, end = parts[0], 0
    if all(
        _follows(first, part, end := end + before) for part, before in zip(parts, _sizes_before(parts), strict=True)
    ):
        return torch.as_strided(first, (num_rows, *first.shape[1:]), first.stride())
    fused = torch.cat(parts)
    for module, view in zip(modules, torch.split(fused, [len(part) for part in parts]), strict=True):
        setattr(module, name, torch.nn.Parameter(view, requires_grad=False))
    return fused


def _sizes_before(parts: Sequence[torch.Tensor]) -> list[int]:
    return [0, *(part.numel() for part in parts[:-1])]


def _follows(first: torch.Tensor, part: torch.Tensor, offset: int) -> bool:
    """True where `part` lies `offset` numbers after the start of `first`, in the same memory."""
    same = part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
    return same and part.is_contiguous() and part.storage_offset() == first.storage_offset() + offset
