"""A folder of pictures: each file is an item, its path below the folder is the id. Opens none of them."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from service.ingest.errors import Reason
from service.ingest.item import VERSION_BYTES, BadRecord, Item
from service.ingest.version import NOT_REGULAR, stamp_of

PICTURES = frozenset(
    {".png", ".jpg", ".jpeg", ".jpe", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm"}
)
"""Suffixes that are taken without `--glob`, in any case."""


class Folder:
    """Files below a folder, in the order of their names, folder by folder."""

    def __init__(self, root: Path, pattern: str | None) -> None:
        """Take files that match `pattern` (as `Path.match` does, from the right); None takes pictures by suffix."""
        self._root = root
        self._pattern = pattern

    def items(self) -> Iterator[Item | BadRecord]:
        """An item for each file; a folder's names are held at once, never the whole tree's."""
        for path in self._paths():
            name = path.relative_to(self._root).as_posix()
            if not _is_text(name):
                shown = name.encode(errors="backslashreplace").decode()
                yield BadRecord(shown, Reason("unreadable_file", f"{shown}: the name is no UTF-8"))
                continue
            try:
                found = path.stat()
            except OSError as error:
                yield BadRecord(name, Reason("unreadable_file", f"{name}: {error.strerror}"))
                continue
            if not stat.S_ISREG(found.st_mode):
                yield BadRecord(name, Reason("unreadable_file", f"{name}: {NOT_REGULAR}"))
                continue
            yield Item(
                id=name,
                version=found.st_size.to_bytes(VERSION_BYTES, "big"),
                num_bytes=found.st_size,
                picture=path,
                metadata={"path": name},
                stamp=stamp_of(found),
            )

    def count(self) -> int:
        """Files that match."""
        return sum(1 for _ in self._paths())

    def _paths(self) -> Iterator[Path]:
        for folder, subfolders, names in os.walk(self._root):
            subfolders.sort()
            paths = (Path(folder, name) for name in sorted(names))
            yield from (path for path in paths if self._is_wanted(path))

    def _is_wanted(self, path: Path) -> bool:
        return path.suffix.lower() in PICTURES if self._pattern is None else path.match(self._pattern)


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8: Python keeps other bytes as halves of surrogate pairs, which no sink can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
