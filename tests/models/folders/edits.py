"""Changes to a folder's files, by which the tables of folders make their cases."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

Edit = Callable[[Path], None]


def put(name: str, **keys: Any) -> Edit:
    """Set keys of a JSON file, which is made where there is none; None takes a key out."""

    def edit(folder: Path) -> None:
        path = folder / name
        content = json.loads(path.read_text()) if path.exists() else {}
        merged = {key: value for key, value in (content | keys).items() if value is not None}
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(merged))

    return edit


def write(name: str, content: Any) -> Edit:
    """Write a file: a text as it is, all else as JSON."""

    def edit(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    return edit


def remove(name: str) -> Edit:
    """Take a file away."""
    return lambda folder: (folder / name).unlink()


def rename(old: str, new: str) -> Edit:
    """Give a file another name."""

    def edit(folder: Path) -> None:
        (folder / old).rename(folder / new)

    return edit


def tensors(**changed: Any) -> Edit:
    """Put tensors into the weights; None takes one out."""

    def edit(folder: Path) -> None:
        path = folder / "model.safetensors"
        kept = {name: tensor for name, tensor in (load_file(path) | changed).items() if tensor is not None}
        save_file(kept, path, metadata={"format": "pt"})

    return edit
