"""Compiled kernels on disk: machine code that runs with our rights, so nothing is read that others could have written.

The folder and the files are the owner's alone. A file begins with the hash of its key and its content; one that does
not match, is a link, or belongs to another user is not read, and compiled anew. Files appear whole (`os.replace`), so
processes that compile at the same time do no harm. Without a folder that is safe, nothing is kept.
"""

import hashlib
import logging
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

MAX_FILE_BYTES = 1 << 24
DIGEST_BYTES = hashlib.sha256().digest_size

logger = logging.getLogger("cenote.kernels")


def folder() -> Path:
    """Where the files lie: `$XDG_CACHE_HOME/cenote/kernels`, by default in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - Path raises without a home
    return Path(base) / "cenote" / "kernels"


def get(key: str, compile_now: Callable[[], bytes]) -> bytes:
    """Return what is kept under `key`; if that is nothing, or not trusted, the result of `compile_now`, and keep it.

    Args:
        key: a hash of everything that the content depends on, in hexadecimal.
    """
    place = folder() / f"{key}.cubin"
    owned = _own(place.parent)
    if owned and (found := _read(place, key)) is not None:
        return found
    made = compile_now()
    if owned:
        _write(place, _digest(key, made) + made)
    return made


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _own(path: Path) -> bool:
    """True if the folder is there, made if need be, and this user's alone: no link, our owner, no rights for others."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except (OSError, RuntimeError) as error:  # a home that cannot be written, or none
        logger.warning("compiled kernels are not kept: %s", type(error).__name__)
        return False
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077:
        return True
    logger.warning("compiled kernels are not kept: the cache folder is not this user's alone")
    return False


def _read(place: Path, key: str) -> bytes | None:
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        mine = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
        content = file.read(MAX_FILE_BYTES) if mine and found.st_size <= MAX_FILE_BYTES else b""
    if content[:DIGEST_BYTES] == _digest(key, content[DIGEST_BYTES:]):
        return content[DIGEST_BYTES:]
    logger.warning("a compiled kernel in the cache is broken or not this user's alone; compiling it again")
    return None


def _write(place: Path, content: bytes) -> None:
    """The file appears whole or not at all; a full disk costs the next start a compilation, and nothing else."""
    name = None
    try:
        descriptor, name = tempfile.mkstemp(dir=place.parent, suffix=".tmp")  # for the owner only
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, place)  # noqa: PTH105 - beside mkstemp
    except OSError as error:
        logger.warning("a compiled kernel is not kept: %s", type(error).__name__)
        if name is not None:
            Path(name).unlink(missing_ok=True)
