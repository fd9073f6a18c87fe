"""Matrix products of decoder and vision tower behind one protocol, so that another way to multiply has one place to go.

In: rows. Out: rows, written where the caller says. Knows no layer.
"""

from collections.abc import Callable
from typing import Protocol

import torch

from service.model.linear import Linear


class Product(Protocol):
    """What layers need of a matrix product."""

    @property
    def num_outputs(self) -> int:
        """Width of what comes out."""
        ...

    def write(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Write the product of `x` to `out`."""
        ...

    def add(self, x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Add the product of `x` to `out`."""
        ...


MakeProduct = Callable[[Linear], Product]
"""How a product over the checkpoint's weights is run."""


def as_it_is(linear: Linear) -> Product:
    """The product as torch runs it."""
    return linear
