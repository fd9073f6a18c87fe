"""Folders whose files disagree or say more than is read: copies of small checkpoints with some files changed."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GONE = object()
"""In the place of a file's content: the file is not there."""

Change = Callable[[Path], None]


@dataclass(frozen=True)
class Folder:
    """One row of a table.

    Attributes:
        what: the row's name.
        start: the checkpoint that is copied.
        files: by name what is laid over a file's object, or `Whole`, or `GONE`.
        change: what else is done to the folder.
        says: a pattern of the sentence that refuses it, with file and key; empty where it equals its reference.
    """

    what: str
    start: str
    files: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    change: Change | None = None

    def make(self, start: Path, place: Path) -> Path:
        """Write the folder.

        Args:
            start: the checkpoint that is copied.
            place: where to.
        """
        shutil.copytree(start, place)
        for name, content in self.files.items():
            if content is GONE:
                shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()
            else:
                write(place, name, content.value if isinstance(content, Whole) else read(place, name) | content)
        if self.change is not None:
            self.change(place)
        return place


@dataclass(frozen=True)
class Whole:
    """A file's content in place of the one that is there."""

    value: Any


def read(folder: Path, name: str) -> dict[str, Any]:
    """A file's object; empty where there is none."""
    path = folder / name
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write(folder: Path, name: str, content: object) -> None:
    """A file of JSON."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def edit(name: str, turn: Callable[[Any], Any]) -> Change:
    """A change of a file's JSON by a function."""

    def change(folder: Path) -> None:
        write(folder, name, turn(json.loads((folder / name).read_text())))

    return change
