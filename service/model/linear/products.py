"""The ways to compute products with fixed weights; `cpu_backend.py` chooses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch

from service.model.linear.linear import Gated, GatedProduct, Linear, MakeProduct, PackedProduct, stock_product
from service.model.linear.native_linear import NATIVE_ROWS, NativeGated, NativeLinear
from service.model.linear.prepacked_linear import (
    PREPACKED_ROWS,
    PaddedLinear,
    PrepackedGated,
    PrepackedLinear,
    padded_rows,
    whole_rows,
)

BLOCK_ROWS = 1024
"""Rows of a block, about: with 256 the matrix product is 10 % slower, with all at once the fresh pages cost 15 %."""


def identity_rows(num_rows: int) -> int:
    """The rows themselves: nothing has to be filled."""
    return num_rows


@dataclass(frozen=True, slots=True)
class Products:
    """One way to compute them.

    Attributes:
        make: a product with a checkpoint's weight.
        gate: ``silu(x W₁ᵀ) · (x W₂ᵀ)`` of two weights that stand side by side.
        fill: the next number of rows that products of `make` take.
        whole: the last one.
    """

    make: MakeProduct
    gate: Callable[[Linear], GatedProduct]
    fill: Callable[[int], int] = identity_rows
    whole: Callable[[int], int] = identity_rows

    def blocks(self, num_rows: int) -> list[slice]:
        """Blocks of rows that go through a layer at a time, of about equal size, the first the largest.

        A last one of few rows would cost as much as many.
        """
        size = -(-num_rows // max(1, round(num_rows / BLOCK_ROWS)))
        return [slice(start, min(start + size, num_rows)) for start in range(0, num_rows, size)]

    def pad_blocks(self, num_rows: int) -> int:
        """`fill` for rows that go block by block: the last block is filled."""
        return num_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedProducts(Products):
    """Products over weights in a layout of their own: the stock module's can be given back.

    Attributes:
        make_for_any_rows: a product that fills rows by itself.
        block_rows: rows of a block, the last of the rest.
    """

    make: Callable[[Linear], PackedProduct]
    make_for_any_rows: MakeProduct
    block_rows: int

    def blocks(self, num_rows: int) -> list[slice]:
        """See `Products.blocks`: blocks as packed products want them."""
        return [slice(start, min(start + self.block_rows, num_rows)) for start in range(0, num_rows, self.block_rows)]

    def pad_blocks(self, num_rows: int) -> int:
        """See `Products.pad_blocks`."""
        whole, rest = divmod(num_rows, self.block_rows)
        return whole * self.block_rows + (self.fill(rest) if rest else 0)


def torchs(make: MakeProduct = stock_product) -> Products:
    """Products over a checkpoint's own weights, by default torch's."""
    return Products(make, lambda both: Gated(make(both)))


TORCHS = torchs()
NATIVE = PackedProducts(make=NativeLinear, gate=NativeGated, make_for_any_rows=NativeLinear, block_rows=NATIVE_ROWS)
ONEDNN = PackedProducts(
    make=PrepackedLinear,
    gate=PrepackedGated,
    fill=padded_rows,
    whole=whole_rows,
    make_for_any_rows=PaddedLinear,
    block_rows=PREPACKED_ROWS,
)


class PackedModule(torch.nn.Module):
    """A `torch.nn.Linear` by a packed product, for a stock module's own forward."""

    def __init__(self, stock: torch.nn.Linear, products: PackedProducts) -> None:
        super().__init__()
        self.in_features = stock.in_features
        self.out_features = stock.out_features
        self._product = products.make(Linear(stock.weight, stock.bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`[..., in_features]` to `[..., out_features]`."""
        rows = x.reshape(-1, self.in_features).contiguous()
        return self._product.project_new(rows).view(*x.shape[:-1], self.out_features)


def pack_modules(module: torch.nn.Module, products: PackedProducts) -> None:
    """Replace each linear layer below `module`, one after the other: no more than one weight is there twice."""
    for parent in [one for one in module.modules() if type(one) is not torch.nn.Linear]:
        for name in [name for name, child in parent.named_children() if type(child) is torch.nn.Linear]:
            setattr(parent, name, PackedModule(cast(torch.nn.Linear, getattr(parent, name)), products))
