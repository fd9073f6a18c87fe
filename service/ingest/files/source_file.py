"""Files of a source as they were when it looked at them: regular ones alone, with their modification times."""

import os
import stat
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Literal

from service.ingest.errors import FileError

STAMP_BYTES = 8
NOT_REGULAR = "not a regular file"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that holds several items: a PDF, a video.

    Attributes:
        name: in ids and errors.
        stamp: modification time, see `version.py`.
    """

    path: Path
    name: str
    stamp: bytes
    num_bytes: int


def find(path: Path, name: str) -> SourceFile:
    """A file as it is now."""
    try:
        found = path.stat()
    except OSError as error:
        raise FileError("unreadable_file", f"{name}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise FileError("unreadable_file", f"{name}: {NOT_REGULAR}")
    return SourceFile(path, name, stamp_of(found), found.st_size)


def stamp_of(found: os.stat_result) -> bytes:
    """A file's modification time, as bytes."""
    return found.st_mtime_ns.to_bytes(STAMP_BYTES, "big", signed=True)


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


PageContent = Literal["image", "text", "fused"]
"""Content of a page to embed: its image, its text layer, or both as one input."""


@dataclass(frozen=True, slots=True)
class PageImage:
    """One page.

    Attributes:
        page: its number, counted from 1.
        width_pt: width as it is shown, in points.
        height_pt: likewise.
    """

    file: SourceFile
    page: int
    width_pt: float
    height_pt: float
