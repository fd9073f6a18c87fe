"""Files that hold items of their own, by suffix: PDFs have pages, videos have segments."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from service.ingest.errors import FileError
from service.ingest.files.file_processes import FileProcesses
from service.ingest.files.source_file import SourceFile, find
from service.ingest.item import BadRecord, SourceItem


class FileItems:
    """Base of readers of one kind of file, one after the other; `missing` says how to install what is missing."""

    counted_bytes: ClassVar[int]
    """Of the files whose items are counted before they are read; the others are estimated by their size."""

    def __init__(self, processes: FileProcesses[Any]) -> None:
        self.missing = processes.missing

    def items(self, path: Path, name: str) -> Iterator[SourceItem | BadRecord]:
        """Yield the items of a file, whose ids begin with its name; one that cannot be opened is one bad record."""
        raise NotImplementedError

    def num_items(self, file: SourceFile) -> int:
        """Number of items of a file."""
        raise NotImplementedError

    def count(self, paths: Sequence[Path]) -> int:
        """Number of items, extrapolated by size beyond `counted_bytes`."""
        num_items = counted_bytes = rest_bytes = 0
        for path in paths:
            try:
                file = find(path, path.as_posix())
                if counted_bytes + file.num_bytes > self.counted_bytes:
                    rest_bytes += file.num_bytes
                    continue
                counted_bytes += file.num_bytes
                num_items += self.num_items(file)
            except FileError:
                num_items += 1  # a dead letter
        return num_items + num_items * rest_bytes // max(1, counted_bytes)


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
