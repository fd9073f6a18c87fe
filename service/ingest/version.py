"""Whether what stands under an id is still what its points were made of.

A point's version in the ledger is the item's own version, and for an item with an image file the file's time of change
and the digest of its content behind it. A file is read again only where size and path are the same and the time is not:
copies of a folder have other times, and an edit may leave the size as it was. Ledgers of older versions have the first
part alone.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path

from service.ingest.item import VERSION_BYTES, Item

STAMP_BYTES = 8
DIGEST_BYTES = 16


def stamp_of(found: os.stat_result) -> bytes:
    """When a file was changed."""
    return found.st_mtime_ns.to_bytes(STAMP_BYTES, "big", signed=True)


def version_of(item: Item, content_name: str | None) -> bytes:
    """What the ledger keeps for a point of an item.

    Args:
        item: as its source gave it.
        content_name: `sha256:` and the digest of the image that was sent; None where there is none.
    """
    if not item.stamp or content_name is None:
        return item.version
    return item.version + item.stamp + bytes.fromhex(content_name.partition(":")[2])[:DIGEST_BYTES]


def is_other(item: Item, versions: Iterable[bytes]) -> bool | None:
    """Whether points of these versions were made of something else; None where only reading the file can tell."""
    answers = {_is_other(item, version) for version in versions}
    return True if True in answers else None if None in answers else False


def is_other_content(item: Item, versions: Iterable[bytes]) -> bool:
    """The same by the file's content; a file that cannot be read is not known to be another. Blocks."""
    assert isinstance(item.picture, Path)  # nothing else has a stamp
    try:
        digest = _digest(item.picture)
    except OSError:
        return False
    start = VERSION_BYTES + STAMP_BYTES
    return any(_is_other(item, version) is None and version[start:] != digest for version in versions)


def open_regular(path: Path) -> BufferedReader:
    """A regular file: a pipe of that name would be waited for, and a device may have no end.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(0, NOT_REGULAR)


NOT_REGULAR = "not a regular file"


def _is_other(item: Item, version: bytes) -> bool | None:
    if version[:VERSION_BYTES] != item.version:
        return True
    stamp = version[VERSION_BYTES : VERSION_BYTES + STAMP_BYTES]
    return False if not stamp or stamp == item.stamp else None


def _digest(path: Path) -> bytes:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").digest()[:DIGEST_BYTES]
