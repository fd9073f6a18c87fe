"""Detects items whose content has changed since their points were made.

A point's version in the ledger is the item's version, followed for an image file by its modification time and the
digest of its content. A file is read again only if path and size are the same and the time differs: a copy of a folder
has other times, and an edit may keep the size. Ledgers of older versions have the first part only.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

from service.ingest.item import VERSION_BYTES, SourceItem

STAMP_BYTES = 8
DIGEST_BYTES = 16


def stamp_of(found: os.stat_result) -> bytes:
    """A file's modification time, as bytes."""
    return found.st_mtime_ns.to_bytes(STAMP_BYTES, "big", signed=True)


def version_of(item: SourceItem, content_name: str | None) -> bytes:
    """Version of an item's point for the ledger; `content_name` is `sha256:` and the digest of the image sent."""
    if not item.stamp or content_name is None:
        return item.version
    return item.version + item.stamp + bytes.fromhex(content_name.partition(":")[2])[:DIGEST_BYTES]


def is_other(item: SourceItem, versions: Iterable[bytes]) -> bool | None:
    """True if points of these versions are of other content; None if only the file's content can tell."""
    answers = {_is_other(item, version) for version in versions}
    return True if True in answers else None if None in answers else False


def is_other_content(item: SourceItem, versions: Iterable[bytes]) -> bool:
    """The same by the file's content; False for a file that cannot be read. Blocks."""
    assert isinstance(item.image, Path)  # nothing else has a stamp
    try:
        digest = _file_digest(item.image)
    except OSError:
        return False
    start = VERSION_BYTES + STAMP_BYTES
    return any(_is_other(item, version) is None and version[start:] != digest for version in versions)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file; a pipe would block, and a device may be endless.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(0, NOT_REGULAR)


NOT_REGULAR = "not a regular file"


def _is_other(item: SourceItem, version: bytes) -> bool | None:
    if version[:VERSION_BYTES] != item.version:
        return True
    stamp = version[VERSION_BYTES : VERSION_BYTES + STAMP_BYTES]
    return False if not stamp or stamp == item.stamp else None


def _file_digest(path: Path) -> bytes:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").digest()[:DIGEST_BYTES]
