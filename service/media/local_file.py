"""`file:` URLs below directories that the operator allows: opened step by step from a handle, following no link.

Between a check of a path and its use a path can change; a handle cannot. So nothing is checked about the path but its
text, and everything about what has been opened. Off unless directories are configured. Runs in a thread.

Source: docs/notes/security.md.
"""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes

from service.media.error_location import NO_LOCATION, ErrorLocation
from service.settings.settings import SettingsError

REFUSED = (
    "This is a `file:` URL that this server does not open: expected `file:///` and the absolute path of "
    "a regular file below an allowed directory, reached without links"
)
"""The same whether the file is not there, is something else or may not be read."""

_FILE_URL = re.compile(r"file:///(?P<path>[^?#\\\x00-\x1f\x7f]+)", re.IGNORECASE)
READ_BYTES = 1 << 20
_STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Without waiting: opening a FIFO would, until somebody writes to it."""


@dataclass(frozen=True, slots=True)
class AllowedDirectory:
    """A directory that was there at the start."""

    parts: tuple[bytes, ...]
    """Its path as the operator wrote it, one bytes for each step."""
    descriptor: int
    """Its handle: what is moved into its place later is not allowed."""


class LocalFiles:
    """Reads files below allowed directories."""

    def __init__(self, directories: Sequence[AllowedDirectory]) -> None:
        self._directories = sorted(directories, key=lambda one: len(one.parts), reverse=True)

    @classmethod
    def of(cls, media_paths: str) -> "LocalFiles":
        """Open the directories of the setting `media_paths`.

        Raises:
            SettingsError: one is no absolute path of a directory.
        """
        return cls([_allowed(path.strip()) for path in media_paths.split(",")])

    def read(self, url: str, *, max_bytes: int, location: ErrorLocation = NO_LOCATION) -> bytes:
        """The bytes of a file.

        Args:
            url: `file:///...`, percent-encoded or not.
        """
        try:
            descriptor = self._open(_parts(url))
            try:
                return _read_regular(descriptor, max_bytes, location)
            finally:
                os.close(descriptor)
        except (OSError, ValueError):
            location.refuse("media_source_refused", f"{REFUSED}.")

    def _open(self, parts: tuple[bytes, ...]) -> int:
        for directory in self._directories:
            num_parts = len(directory.parts)
            if parts[:num_parts] == directory.parts and len(parts) > num_parts:
                return _walk(directory.descriptor, parts[num_parts:])
        raise ValueError("below no allowed directory")


def _allowed(path: str) -> AllowedDirectory:
    flag = "--media-paths"
    parts = PurePosixPath(path).parts
    if not path.startswith("/") or path.startswith("//") or ".." in parts:
        raise SettingsError(f"{flag}: got {path!r}, expected absolute paths of directories, separated by commas")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SettingsError(f"{flag}: {path}: {error.strerror}") from error
    return AllowedDirectory(tuple(map(os.fsencode, parts[1:])), descriptor)


def _parts(url: str) -> tuple[bytes, ...]:
    """The steps of a URL's path, decoded once; a step that is empty, climbs or holds a slash makes it no path."""
    match = _FILE_URL.fullmatch(url)
    if match is None:
        raise ValueError("no file URL")
    parts = tuple(unquote_to_bytes(part.encode()) for part in match["path"].split("/"))
    if any(part in (b"", b".", b"..") or b"/" in part or b"\0" in part for part in parts):
        raise ValueError("no plain path")
    return parts


def _walk(descriptor: int, parts: tuple[bytes, ...]) -> int:
    """Open the last step, from handle to handle."""
    held = os.dup(descriptor)
    try:
        for part in parts[:-1]:
            below = os.open(part, _STEP, dir_fd=held)
            os.close(held)
            held = below
        return os.open(parts[-1], _OPEN, dir_fd=held)
    finally:
        os.close(held)


def _read_regular(descriptor: int, max_bytes: int, location: ErrorLocation) -> bytes:
    """All bytes of a file of a size that is accepted, also when it grows meanwhile."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        location.refuse("media_source_refused", f"{REFUSED}.")
    pieces, num_left = [], max_bytes + 1 if status.st_size <= max_bytes else 0
    while num_left and (piece := os.read(descriptor, min(num_left, READ_BYTES))):
        pieces.append(piece)
        num_left -= len(piece)
    if num_left == 0:
        location.refuse("media_too_large", f"The file is larger than the {max_bytes} bytes accepted.")
    return b"".join(pieces)
