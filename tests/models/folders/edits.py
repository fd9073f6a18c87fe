"""Changes to a folder's files, by which the tables of folders make their rows."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

Edit = Callable[[Path], object]


def read(folder: Path, name: str) -> Any:
    """A file's JSON; an empty object where there is none."""
    path = folder / name
    return json.loads(path.read_text()) if path.exists() else {}


def turn(name: str, change: Callable[[Any], Any]) -> Edit:
    """Change a file's JSON by a function."""
    return lambda folder: write(name, change(read(folder, name)))(folder)


def put(name: str, **keys: Any) -> Edit:
    """Set keys of a JSON file, which is made where there is none; None takes a key out."""
    return turn(name, lambda found: {key: value for key, value in (found | keys).items() if value is not None})


def write(name: str, content: Any) -> Edit:
    """Write a file: a text as it is, all else as JSON."""

    def edit(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    return edit


def remove(*names: str) -> Edit:
    """Take files or folders away."""

    def edit(folder: Path) -> None:
        for path in (folder / name for name in names):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return edit


def rename(old: str, new: str) -> Edit:
    """Give a file another name."""
    return lambda folder: (folder / old).rename(folder / new)


def tensors(file: str = "model.safetensors", /, **changed: Any) -> Edit:
    """Put tensors into a file of weights; None takes one out."""

    def edit(folder: Path) -> None:
        kept = {name: tensor for name, tensor in (load_file(folder / file) | changed).items() if tensor is not None}
        save_file(kept, folder / file, metadata={"format": "pt"})

    return edit


def without(part: str, file: str = "model.safetensors") -> Edit:
    """Take the tensors out whose names have a part, of which there is one at least."""

    def edit(folder: Path) -> None:
        found = load_file(folder / file)
        kept = {name: tensor for name, tensor in found.items() if part not in name}
        assert len(kept) < len(found)
        save_file(kept, folder / file, metadata={"format": "pt"})

    return edit


def retensor(change: Callable[[dict[str, Any]], object], file: str = "model.safetensors") -> Edit:
    """Change a file's tensors in place."""

    def edit(folder: Path) -> None:
        found = load_file(folder / file)
        change(found)
        save_file(found, folder / file, metadata={"format": "pt"})

    return edit


def modules(*kinds: tuple[str, str]) -> Edit:
    """modules.json of types and paths."""
    entries = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (kind, path) in enumerate(kinds)]
    return write("modules.json", entries)
