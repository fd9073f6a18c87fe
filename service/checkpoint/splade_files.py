"""SPLADE's files: `modules.json` with a masked language model and SpladePooling, and how that pools. Imports no torch.

Source: sentence-transformers 6.2 `SparseEncoder`, `SpladePooling`, `MLMTransformer`.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.errors import CheckpointError
from service.checkpoint.sentence_modules import is_inside, read_object

STRATEGIES = ("max", "sum")
ACTIVATIONS = ("relu", "log1p_relu")
KIND = re.compile(r"sentence_transformers\.[\w.]+\.(?P<kind>Transformer|MLMTransformer|SpladePooling)")
"""Import paths of the modules, now and before release 6."""


@dataclass(frozen=True, slots=True)
class SpladePooling:
    """How the logits of a text's tokens become the weights of the vocabulary's entries.

    Attributes:
        strategy: `max` or `sum` over the tokens.
        activation: `relu`: log1p(relu(logit)); `log1p_relu`: log1p of that once more.
    """

    strategy: str
    activation: str


def is_splade(folder: Path) -> bool:
    """True where `modules.json` pools by SpladePooling."""
    path = folder / "modules.json"
    return path.is_file() and any(str(kind).endswith(".SpladePooling") for kind in _kinds(path))


def read_splade(folder: Path) -> SpladePooling:
    """The pooling's configuration.

    Raises:
        CheckpointError: the modules are others than the model and its pooling, or it asks for what is not supported.
    """
    path = folder / "modules.json"
    entries = [one for one in json.loads(path.read_bytes()) if isinstance(one, dict)]
    found = [KIND.fullmatch(str(one.get("type", ""))) for one in entries]
    kinds = [one["kind"] if one else None for one in found]
    places = [str(one.get("path", "")) for one in entries]
    if len(kinds) != 2 or kinds[0] not in ("Transformer", "MLMTransformer") or kinds[1] != "SpladePooling":
        said = ", ".join(str(one.get("type")) for one in entries)
        raise CheckpointError(f"{path} has {said}; supported with SpladePooling: a Transformer before it, nothing else")
    if places[0] or not is_inside(places[1]):
        raise CheckpointError(f"{path} has paths {places}; supported: the Transformer beside it, its pooling below it")
    pooling = folder / places[1] / "config.json"
    config = read_object(pooling)
    strategy = _choice(pooling, config, "pooling_strategy", STRATEGIES)
    return SpladePooling(strategy, _choice(pooling, config, "activation_function", ACTIVATIONS))


def _kinds(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []  # `list_modules` says what is wrong
    return [one.get("type") for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []


def _choice(path: Path, config: dict[str, Any], key: str, known: tuple[str, ...]) -> str:
    value = config.get(key, known[0])
    if value not in known:
        raise CheckpointError(f"{path} has {key} {value!r}; supported: {', '.join(known)}")
    return str(value)
