"""LoRA, merged into a model that was just loaded: ``W + scale · B @ A``, in float32, once.

Source: peft 0.20 `merge_and_unload`.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file

from service.checkpoint.json_files import read_object
from service.checkpoint.late.lora_files import JOINED, lora_scale
from service.errors import ModelError

TENSOR = re.compile(r"^base_model\.model\.(?P<layer>.+)\.lora_(?P<half>[AB])\.weight$")
MOVED = (
    (re.compile(r"^(?:vlm\.)?model\.(?=visual\.|language_model\.)"), ""),
    (re.compile(r"^(?:vlm\.)?model\.(?=layers\.|embed_tokens\.|norm\.)"), "language_model."),
    (re.compile(r"^visual\.visual\."), "visual."),
)
"""Names of layers in adapters that were made with older releases of transformers, to today's."""


def merge_adapter(folder: Path, stock: torch.nn.Module, others: Mapping[str, torch.nn.Linear]) -> None:
    """Add a checkpoint's adapter to the weights; nothing where it has none.

    Args:
        stock: the module whose linear layers it changes.
        others: linear layers beside it, by the names that they have in the adapter.

    Raises:
        ModelError: the adapter has tensors that are none of these layers', or of other shapes.
        CheckpointError: it is of another kind than plain LoRA.
    """
    place = folder / JOINED
    if not place.is_dir():
        return
    scale = lora_scale(read_object(place / "config.json"), place / "config.json")
    pairs: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in load_file(place / "model.safetensors").items():
        found = TENSOR.match(name)
        if found is None:
            raise ModelError(
                "internal_error", f"the adapter has the tensor {name}, which is not LoRA of a linear layer"
            )
        pairs.setdefault(found["layer"], {})[found["half"]] = tensor
    for layer, halves in pairs.items():
        linear = others.get(layer) or _linear(stock, layer)
        _add(layer, linear, halves, scale)


def _linear(stock: torch.nn.Module, layer: str) -> torch.nn.Linear | None:
    for old, new in MOVED:
        layer = old.sub(new, layer)
    found = dict(stock.named_modules()).get(layer)
    return found if isinstance(found, torch.nn.Linear) else None


def _add(layer: str, linear: torch.nn.Linear | None, halves: Mapping[str, torch.Tensor], scale: float) -> None:
    down, up = halves.get("A"), halves.get("B")
    if linear is None or down is None or up is None or not _fit(linear, down, up):
        shapes = {half: tuple(one.shape) for half, one in halves.items()}
        raise ModelError(
            "internal_error",
            f"the adapter has LoRA of {layer} in the shapes {shapes}; its base has no linear layer that fits",
        )
    weight = linear.weight
    down, up = (one.to(weight.device, torch.float32) for one in (down, up))
    weight.data.copy_(weight.float() + scale * (up @ down))


def _fit(linear: torch.nn.Linear, down: torch.Tensor, up: torch.Tensor) -> bool:
    rank = len(down)
    return (down.shape, up.shape) == ((rank, linear.in_features), (linear.out_features, rank))
