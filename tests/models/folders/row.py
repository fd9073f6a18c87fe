"""Folders whose files disagree or say more than is read: a small checkpoint, changed. A row is its test."""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.models.folders.edits import Edit, put


@dataclass(frozen=True)
class Row:
    """One folder.

    Attributes:
        name: what is unusual about it.
        base: of `BASES`.
        edits: what is changed, in order.
        says: a pattern of the sentence that refuses it; None: it has its reference's vectors or scores.
        folder: its name, where that matters.
        family: as `--family` names it.
        at_load: refused by the weights, when the engine loads them; all else the front refuses.
    """

    name: str
    base: str
    edits: Sequence[Edit] = ()
    says: str | None = None
    folder: str = "folder"
    family: str | None = None
    at_load: bool = False

    def make(self, base: Path, place: Path) -> Path:
        """Write the folder."""
        copied = place / self.folder
        shutil.copytree(base, copied)
        for edit in self.edits:
            edit(copied)
        return copied


def by_key(base: str, file: str, *keys: dict[str, Any], **more: Any) -> Iterator[Row]:
    """Rows that are refused by the file and the key, each with one key set; a nested one is named with dots."""
    for one in (*keys, *({key: value} for key, value in more.items())):
        ((key, value),) = one.items()
        path, inner = [key], value
        while isinstance(inner, dict) and len(inner) == 1:
            ((last, inner),) = inner.items()
            path.append(last)
        said = [*path, repr(inner)] if isinstance(inner, str | int | float | bool) else path
        says = ".*".join(map(re.escape, (file, *said)))
        yield Row(f"{base}: {file} has {'.'.join(path)} {inner!r}", base, [put(file, **one)], says)


def by_words(base: str, said: dict[str, Edit], folder: str = "folder", *, at_load: bool = False) -> Iterator[Row]:
    """Rows that are refused in words, each with one edit."""
    for words, edit in said.items():
        yield Row(f"{base}: {words}", base, [edit], words, folder, at_load=at_load)
