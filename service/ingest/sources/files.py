"""Files that hold items of their own, by suffix: PDFs have pages, videos have segments."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from service.ingest.item import BadRecord, SourceItem


class FileItems(Protocol):
    """Reads files of one kind."""

    @property
    def missing(self) -> str | None:
        """The message that says how to install what is missing, if anything is."""
        ...

    def items(self, path: Path, name: str) -> Iterator[SourceItem | BadRecord]:
        """Yield the items of a file, whose ids begin with its name; one that cannot be opened is one bad record."""
        ...

    def count(self, paths: Sequence[Path]) -> int:
        """Approximate number of items."""
        ...


Kinds = Mapping[str, FileItems]
"""Who reads files of a suffix, in lower case."""


def kind_of(path: Path, kinds: Kinds) -> FileItems | None:
    """Who reads a file; None of one that is no such file."""
    return kinds.get(path.suffix.lower())


def count(paths: Sequence[Path], kinds: Kinds) -> int:
    """Approximate number of items of such files."""
    readers = {id(reader): reader for reader in kinds.values()}
    return sum(reader.count([path for path in paths if kind_of(path, kinds) is reader]) for reader in readers.values())


class NamedFiles:
    """Files that were named one by one; the id of an item begins with the path as it was written."""

    def __init__(self, paths: Sequence[Path], kinds: Kinds) -> None:
        self._paths = paths
        self._kinds = kinds

    def has(self, kind: type[FileItems]) -> bool:
        """True if files of a kind are among them."""
        return any(type(kind_of(path, self._kinds)) is kind for path in self._paths)

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield the items of all files, in their order."""
        for path in self._paths:
            reader = kind_of(path, self._kinds)
            assert reader is not None  # no others are named
            yield from reader.items(path, path.as_posix())

    def count(self) -> int:
        """Approximate number of items."""
        return count(self._paths, self._kinds)
