"""LoRA in a model that was just loaded: ``W + scale · B @ A``, in float32, once; or beside weights that several share.

DoRA gives each row of the sum a length: ``magnitude · row / |row|``.

Source: peft 0.21 `merge_and_unload`.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import safe_open

from service.checkpoint.lora.adapter import Adapter, LoraProduct, joined_adapter
from service.checkpoint.lora.group import grouped_adapters
from service.errors import ModelError
from service.model.adapted import NAME, AdaptedLayer, Chosen, adapted_layer

T = TypeVar("T")
MOVED = (
    (re.compile(r"^(?:vlm\.)?model\.(?=visual\.|language_model\.)"), ""),
    (re.compile(r"^(?:vlm\.)?model\.(?=layers\.|embed_tokens\.|norm\.)"), "language_model."),
    (re.compile(r"^visual\.visual\."), "visual."),
    (re.compile(r"^(?:vlm\.|model\.)*language_model\.model\."), "language_model."),
)
"""Names of layers in adapters that were made with older releases of transformers, to today's."""
HEADS = {"lm_head", "multi_vector_projector"}
"""A language model's, and jina-embeddings-v4's for each token, which an embedder does not have; who reads one by itself
refuses an adapter of it."""


def merge_adapter(folder: Path, stock: torch.nn.Module, beside: Collection[str] = ()) -> None:
    """Change the weights by a checkpoint's adapter; nothing where it has none. Those of a group stay beside them.

    Args:
        stock: the module whose layers it changes.
        beside: layers that are no part of it, for `merge_layer`.

    Raises:
        ModelError: the adapter changes what the module does not have, or has in another shape.
        CheckpointError: see `read_adapter`.
    """
    if grouped := grouped_adapters(folder):
        _attach(grouped, stock)
    if (adapter := joined_adapter(folder)) is None:
        return
    modules, parameters = dict(stock.named_modules()), dict(stock.named_parameters())
    for layer, product in adapter.products.items():
        if layer not in beside and (found := _find(modules, layer, stock)) is not None:
            _add(adapter, layer, found, product)
    for name, tensor in adapter.whole.items():
        if (parameter := _find(parameters, name, stock)) is not None:
            _put(adapter, name, parameter, tensor)


def merge_layer(folder: Path, layer: str, linear: torch.nn.Linear) -> None:
    """The same for a layer beside the stock module, by the name that it has in the adapter."""
    adapter = joined_adapter(folder)
    if adapter is not None and (product := adapter.products.get(layer)) is not None:
        _add(adapter, layer, linear, product)


def _find(known: Mapping[str, T], name: str, stock: torch.nn.Module) -> T | None:
    """A part of the module by its name in the model that an adapter was trained on.

    That is one of this class, the same with a head around it or without one, or one of an older release. None: it is of
    a head that this class does not have.

    Raises:
        ModelError: there is none.
    """
    prefix, moved = str(getattr(stock, "base_model_prefix", "")), name
    for old, new in MOVED:
        moved = old.sub(new, moved)
    names = (name, name.removeprefix(f"{prefix}."), f"{prefix}.{name}", moved)
    found = next((known[one] for one in names if one in known), None)
    if found is None and HEADS.isdisjoint(name.split(".")):
        raise ModelError("internal_error", f"the adapter changes {name}; its base has nothing of this name")
    return found


def _tensor(adapter: Adapter, name: str, device: torch.device) -> torch.Tensor:
    with safe_open(adapter.path, framework="pt") as file:
        found: torch.Tensor = file.get_tensor(name)
    return found.to(device, torch.float32)


def _attach(adapters: Mapping[int, Adapter], stock: torch.nn.Module) -> None:
    """Give each layer that one of the adapters changes the factors of all, in the number format of its weight."""
    modules, chosen = dict(stock.named_modules()), Chosen()
    for place, adapter in adapters.items():
        for name, product in adapter.products.items():
            if (found := _find(modules, name, stock)) is None:
                continue
            linear, down, up = _fitting(adapter, name, found, product)
            layer = adapted_layer(linear) or AdaptedLayer(linear, chosen)
            setattr(linear, NAME, layer)
            factors = (down.t().contiguous(), (product.scale * up).t().contiguous())
            layer.factors[place] = (factors[0].to(linear.weight.dtype), factors[1].to(linear.weight.dtype))


def _fitting(
    adapter: Adapter, layer: str, linear: torch.nn.Module, product: LoraProduct
) -> tuple[torch.nn.Linear, torch.Tensor, torch.Tensor]:
    """The layer and A and B, which have to fit it."""
    device = next(linear.parameters()).device
    down, up = (_tensor(adapter, name, device) for name in product.halves)
    if not isinstance(linear, torch.nn.Linear) or (len(up), down.shape[1]) != linear.weight.shape:
        shapes = f"{tuple(down.shape)} and {tuple(up.shape)}"
        raise ModelError(
            "internal_error",
            f"the adapter has LoRA of {layer} in the shapes {shapes}; its base has no linear layer that fits",
        )
    return linear, down, up


def _add(adapter: Adapter, layer: str, found: torch.nn.Module, product: LoraProduct) -> None:
    linear, down, up = _fitting(adapter, layer, found, product)
    merged = linear.weight.float() + product.scale * (up @ down)
    if product.magnitude:
        merged *= (_tensor(adapter, product.magnitude, merged.device).flatten() / merged.norm(dim=1))[:, None]
    linear.weight.data.copy_(merged)


def _put(adapter: Adapter, name: str, parameter: torch.nn.Parameter, tensor: str) -> None:
    found = _tensor(adapter, tensor, parameter.device)
    if found.shape != parameter.shape:
        raise ModelError(
            "internal_error",
            f"the adapter has {name} in the shape {tuple(found.shape)}; its base has {tuple(parameter.shape)}",
        )
    parameter.data.copy_(found)
