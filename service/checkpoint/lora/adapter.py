"""An adapter's tensors by the layers that they change, checked against its settings by headers.

Source: peft 0.21 `get_peft_model_state_dict`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, read_object
from service.checkpoint.lora.settings import MERGE_IT, LoraSettings
from service.checkpoint.weight_files import OF_TASK, read_header

JOINED = "joined_adapter"
"""Folder of a joined checkpoint that holds the adapter, as `config.json` and `model.safetensors`: names that count in
fingerprints, wherever they are."""
CONFIG, WEIGHTS = "config.json", "model.safetensors"
TASK = "task"
"""Beginning of the name of a link there that says which task is meant, where the adapter's file has several."""
PREFIX = "base_model.model."
PART = re.compile(r"^(?P<layer>.+)\.lora_(?P<part>A\.weight|B\.weight|magnitude_vector(?:\.weight)?)$")
WRAPPED = re.compile(r"\.(?:base_layer|modules_to_save)(?=\.)")
"""Between a module and its parameter, where peft wraps it."""


@dataclass(frozen=True, slots=True)
class LoraProduct:
    """What is added to a layer's weight: ``scale · B @ A``.

    Attributes:
        halves: names of the tensors A and B.
        magnitude: likewise, of the lengths that the rows of the sum get (DoRA); empty where they stay as they are.
        scale: see `LoraSettings.scale`.
    """

    halves: tuple[str, str]
    magnitude: str
    scale: float


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter.

    Attributes:
        products: by the layer's name in the model that it was trained on.
        whole: names of tensors that take a parameter's place, by that parameter's.
    """

    path: Path
    products: Mapping[str, LoraProduct]
    whole: Mapping[str, str]

    @property
    def is_plain(self) -> bool:
        """True where all that it does is added to layers' outputs."""
        return not (self.whole or any(one.magnitude for one in self.products.values()))

    def is_of(self, part: str) -> bool:
        """True where it changes what has this part in its name."""
        return any(part in name for name in (*self.products, *self.whole))

    def changes(self, *modules: str) -> str | None:
        """The first layer or parameter with one of these names at its end."""
        names = [*self.products, *(name.rpartition(".")[0] for name in self.whole)]
        return next((name for name in names if f".{name}".endswith(tuple(f".{one}" for one in modules))), None)


def joined_adapter(folder: Path, part: str = JOINED) -> Adapter | None:
    """The adapter of a joined checkpoint, in a folder of that name; None where it has none."""
    place = folder / part
    return read_adapter(place / CONFIG, place / WEIGHTS) if place.is_dir() else None


def chosen_task(place: Path) -> str:
    """The task of the adapter in a folder such as `JOINED`, where several were to choose from; else empty."""
    return next((path.name.removeprefix(f"{TASK}-") for path in place.glob(f"{TASK}-*")), "")


def read_adapter(config: Path, weights: Path, task: str = "") -> Adapter:
    """An adapter, by its headers: LoRA or DoRA of linear layers, and parameters as a whole, as its settings name them.

    Args:
        task: whose tensors are meant of those that have a task in their names, the others' are passed over; empty: as
            a link beside the config says.
    """
    task = task or chosen_task(config.parent)
    settings, header = LoraSettings.of(read_object(config), config), read_header(weights)
    parts: dict[str, dict[str, str]] = {}
    whole: dict[str, str] = {}
    for name in header:
        of_task = OF_TASK.search(name) if task else None
        if of_task is not None and of_task["task"] != task:
            continue
        found = PART.match((OF_TASK.sub(r"\g<layer>\g<end>", name) if of_task else name).removeprefix(PREFIX))
        if found is not None:
            parts.setdefault(found["layer"], {})[found["part"].removesuffix(".weight")] = name
        elif ".lora_" not in name and settings.saves(own := WRAPPED.sub("", name.removeprefix(PREFIX))):
            whole[own] = name
        else:
            raise CheckpointError(
                f"{weights} has {name}, which is neither LoRA of a linear layer nor among what {config.name} says is "
                f"saved as a whole. {MERGE_IT}"
            )
    if not header:
        raise CheckpointError(f"{weights} has no tensors")
    return Adapter(weights, {layer: _product(layer, one, header, settings) for layer, one in parts.items()}, whole)


def _product(layer: str, parts: Mapping[str, str], header: Mapping[str, Any], settings: LoraSettings) -> LoraProduct:
    wanted = {"A", "B", *(("magnitude_vector",) if settings.is_dora else ())}
    if not settings.targets(layer) or parts.keys() != wanted:
        reason = f"LoRA of {layer} ({', '.join(sorted(parts))}); by its keys it needs {', '.join(sorted(wanted))}"
        untargeted = f"LoRA of {layer}, which its target_modules and the keys beside it do not name"
        raise CheckpointError(f"{settings.path} has {reason if settings.targets(layer) else untargeted}")
    shapes, rank = {part: header[name]["shape"] for part, name in parts.items()}, settings.rank(layer)
    if len(shapes["A"]) != 2 or len(shapes["B"]) != 2 or shapes["A"][0] != rank or shapes["B"][1] != rank:
        raise CheckpointError(f"{settings.path} has rank {rank} for {layer}, whose tensors have the shapes {shapes}")
    return LoraProduct((parts["A"], parts["B"]), parts.get("magnitude_vector", ""), settings.scale(layer))
