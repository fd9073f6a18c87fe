"""Adapters that share their base's weights: ``y = W x + b + scale · B (A x)``, by the factors of the chosen one.

A stock module's layers add them by a hook, packed products by a product around them. Nothing is rewritten from one
adapter to the next, and the base's matrices are there once, in whatever layout the processor wants.

Source: Hu et al. 2021 (arXiv 2106.09685); peft 0.21 `lora.Linear.forward`, without `merge`.
"""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch.nn import functional

from service.errors import ModelError
from service.model.linear.linear import Gated, Linear, MakeProduct, PackedProduct, Product
from service.model.linear.products import PackedProducts, Products

P = TypeVar("P", Products, PackedProducts)
NAME = "adapted"
"""Attribute of a linear layer that has an `AdaptedLayer`."""


@dataclass(slots=True)
class Chosen:
    """The model whose turn it is, among those that share weights, by the place of its adapter."""

    place: int = 0


class AdaptedLayer:
    """The factors of a linear layer.

    Attributes:
        chosen: whose are added.
        factors: ``Aᵀ`` and ``scale · Bᵀ`` by the adapter's place; nothing is added for others.
        is_called: the layer has run as the stock module's.
    """

    def __init__(self, linear: torch.nn.Linear, chosen: Chosen) -> None:
        self.chosen = chosen
        self.factors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.is_called = False
        linear.register_forward_hook(self._hook)

    def add(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Add to `y`, `[rows, outputs]`, what the chosen adapter makes of `x`, `[rows, inputs]`."""
        if (found := self.factors.get(self.chosen.place)) is not None:
            y.addmm_(x @ found[0], found[1])

    def _hook(self, _: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
        self.is_called = True
        found = self.factors.get(self.chosen.place)
        return output if found is None else output + (inputs[0] @ found[0]) @ found[1]


def adapted_layer(linear: torch.nn.Module) -> AdaptedLayer | None:
    """The factors of a layer, if it has some."""
    return cast("AdaptedLayer | None", vars(linear).get(NAME))


def adapted_layers(stock: torch.nn.Module) -> dict[str, AdaptedLayer]:
    """All of a module, by their names."""
    found = {name: adapted_layer(one) for name, one in stock.named_modules()}
    return {name: one for name, one in found.items() if one is not None}


def places_of(layers: Mapping[str, AdaptedLayer]) -> set[int]:
    """The adapters that change one of these."""
    return {place for layer in layers.values() for place in layer.factors}


def check_called(layers: Mapping[str, AdaptedLayer]) -> None:
    """Pass if the stock module has called each layer. ModelError: one whose weight it reads itself has no factors."""
    if missed := next((name for name, one in layers.items() if not one.is_called), None):
        raise ModelError(
            "internal_error",
            f"adapters of one base change {missed}, which its model does not call: such adapters cannot share the "
            "base's weights. Serve each by a server of its own",
        )


def adapt(products: P, stock: torch.nn.Module) -> P:
    """The same products, which add the factors of the module's layers; they look for them while they are made."""
    linears = [weakref.ref(one) for one in stock.modules() if adapted_layer(one) is not None]
    if not linears:
        return products

    def around(make: MakeProduct) -> Any:
        return lambda linear: _around(make(linear), linear, [found for one in linears if (found := one()) is not None])

    make: Any = around(products.make)
    more = {"make_for_any_rows": around(products.make_for_any_rows)} if isinstance(products, PackedProducts) else {}
    return replace(products, make=make, gate=lambda both: Gated(make(both)), **more)


class AdaptedProduct(PackedProduct):
    """The base's product, to whose outputs the factors of the layers are added that are in its weight."""

    def __init__(self, product: Product, parts: Sequence[tuple[slice, AdaptedLayer]]) -> None:
        self.num_outputs = product.num_outputs
        self._product, self._parts = product, parts

    def project(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return self._added(x, self._product.project(x, memory))

    def project_add(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """See `Product`."""
        return self._added(x, self._product.project_add(x, residual))

    def project_new(self, x: torch.Tensor) -> torch.Tensor:
        """See `PackedProduct`."""
        return self.project(x, x.new_empty(len(x), self.num_outputs))

    def project_gelu(self, x: torch.Tensor) -> torch.Tensor:
        """See `PackedProduct`."""
        return functional.gelu(self.project_new(x))

    def _added(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for outputs, layer in self._parts:
            layer.add(x, y[:, outputs])
        return y


def _around(product: Product, linear: Linear, stock: Sequence[torch.nn.Module]) -> Product:
    """The product itself where no layer's weight is a part of its own."""
    parts: list[tuple[slice, AdaptedLayer]] = []
    row_bytes = linear.weight.shape[1] * linear.weight.element_size()
    for one in stock:
        layer = adapted_layer(one)
        if layer is None or not isinstance(one, torch.nn.Linear) or not one.weight.numel():
            continue  # its weight has been packed
        start, rest = divmod(one.weight.data_ptr() - linear.weight.data_ptr(), row_bytes)
        if not rest and 0 <= start < linear.num_outputs:
            parts.append((slice(start, start + one.out_features), layer))
    return AdaptedProduct(product, parts) if parts else product
