"""A folder of documents, images, PDFs and videos: a document or an image is an item, whose id is its path below it.

The ids of a PDF's pages, of a video's segments and of a document's chunks begin with that path.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from service.ingest.errors import FailureReason, FileError
from service.ingest.files.source_file import find
from service.ingest.item import VERSION_BYTES, BadRecord, SourceItem
from service.ingest.sources.documents import DocumentFiles
from service.ingest.sources.files import Kinds, count, kind_of
from service.ingest.sources.pdf import PdfPages
from service.ingest.sources.video import VideoSegments

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".jpe", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm"})
"""Suffixes taken without `--glob`, beside PDFs and videos; case-insensitive. No image is opened here."""

FileKind = Literal["document", "image", "PDF", "video"]
KINDS: Mapping[type, FileKind] = {DocumentFiles: "document", PdfPages: "PDF", VideoSegments: "video"}
"""By who reads it; any other file is an image."""


class Folder:
    """Files below a folder, in the order of their names, folder by folder.

    Attributes:
        left_out: kinds of file that are passed over.
    """

    def __init__(self, root: Path, pattern: str, kinds: Kinds) -> None:
        """Take files that match `pattern` (`Path.match`, from the right); without one images and `kinds`."""
        self._root = root
        self._pattern = pattern
        self._kinds = kinds
        self.left_out: frozenset[FileKind] = frozenset()

    def kinds(self) -> Mapping[FileKind, Counter[str]]:
        """Number of files of each kind, by suffix. Reads names alone."""
        found: dict[FileKind, Counter[str]] = {}
        for path in self._paths():
            found.setdefault(self._kind(path), Counter())[path.suffix.lower()] += 1
        return found

    def unread(self) -> Counter[str]:
        """Number of files that nothing here reads, by suffix, but for hidden ones; none where `--glob` chooses."""
        paths = () if self._pattern else (path for path in self._walk() if not self._is_taken(path))
        relative = (path.relative_to(self._root) for path in paths)
        return Counter(path.suffix.lower() for path in relative if not any(part[0] == "." for part in path.parts))

    def _kind(self, path: Path) -> FileKind:
        return KINDS.get(type(kind_of(path, self._kinds)), "image")

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield an item for each file, with the names of one folder in memory at a time."""
        for path in self._paths():
            name = path.relative_to(self._root).as_posix()
            if not _is_text(name):
                shown = name.encode(errors="backslashreplace").decode()
                yield BadRecord(shown, FailureReason("unreadable_file", f"{shown}: the name is not UTF-8"))
                continue
            if (reader := kind_of(path, self._kinds)) is not None:
                yield from reader.items(path, name)
                continue
            try:
                file = find(path, name)
            except FileError as error:
                yield BadRecord(name, error.reason)
                continue
            version = file.num_bytes.to_bytes(VERSION_BYTES, "big")
            yield SourceItem(name, version, file.num_bytes, media=path, metadata={"path": name}, stamp=file.stamp)

    def count(self) -> int:
        """Number of images, and approximately of pages and segments."""
        paths = list(self._paths())
        files = [path for path in paths if kind_of(path, self._kinds) is not None]
        return len(paths) - len(files) + count(files, self._kinds)

    def _paths(self) -> Iterator[Path]:
        return (path for path in self._walk() if self._is_taken(path) and self._kind(path) not in self.left_out)

    def _is_taken(self, path: Path) -> bool:
        return path.match(self._pattern) if self._pattern else path.suffix.lower() in IMAGES | self._kinds.keys()

    def _walk(self) -> Iterator[Path]:
        for folder, subfolders, names in os.walk(self._root):
            subfolders.sort()
            yield from (Path(folder, name) for name in sorted(names))


def _is_text(name: str) -> bool:
    """True if a name is UTF-8; Python decodes other bytes to lone surrogates, which no sink can store."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
