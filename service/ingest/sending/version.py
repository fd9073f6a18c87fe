"""Detects items whose content has changed since their points were made.

A point's version in the ledger is the item's version, followed for what came from a file by its modification time and
the digest of its content. A file is read again only if path and size are the same and the time differs: a copy of
a folder has other times, and an edit may keep the size. Ledgers of older versions have the first part only.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from service.ingest.files.source_file import STAMP_BYTES, PageImage, open_regular
from service.ingest.files.video_segment import VideoSegment
from service.ingest.item import VERSION_BYTES, SourceItem

DIGEST_BYTES = 16


def version_of(item: SourceItem, file_digest: bytes) -> bytes:
    """Version of an item's point for the ledger; `file_digest` is the SHA-256 of the file that it came from."""
    if not item.stamp or not file_digest:
        return item.version
    return item.version + item.stamp + file_digest[:DIGEST_BYTES]


def is_other(item: SourceItem, versions: Iterable[bytes]) -> bool | None:
    """True if points of these versions are of other content; None if only the file's content can tell."""
    answers = {_is_other(item, version) for version in versions}
    return True if True in answers else None if None in answers else False


def is_other_content(item: SourceItem, versions: Iterable[bytes]) -> bool:
    """The same by the file's content; False for a file that cannot be read. Blocks."""
    media = item.media
    assert isinstance(media, Path | PageImage | VideoSegment)  # nothing else has a stamp
    try:
        digest = _file_digest(media if isinstance(media, Path) else media.file.path, item.stamp)
    except OSError:
        return False
    start = VERSION_BYTES + STAMP_BYTES
    return any(_is_other(item, version) is None and version[start:] != digest for version in versions)


def _is_other(item: SourceItem, version: bytes) -> bool | None:
    if version[:VERSION_BYTES] != item.version:
        return True
    stamp = version[VERSION_BYTES : VERSION_BYTES + STAMP_BYTES]
    return False if not stamp or stamp == item.stamp else None


@lru_cache(16)
def _file_digest(path: Path, _: bytes) -> bytes:
    """The digest of a file with this modification time; the pages of a PDF ask for it one after the other."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").digest()[:DIGEST_BYTES]
