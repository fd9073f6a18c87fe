"""The file of API keys: one JSON object a line, with the hash of a key, its tenant and its limits.

Errors name the line and never its content.
"""

import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from service.settings.settings import SettingsError

KEY_PREFIX = "cen_"
"""Prefix of all keys, by which scanners for leaked secrets recognize them."""

KEY_BYTES = 32

MAX_FILE_BYTES = 16 << 20
"""Some 80,000 keys."""

MIN_REQUESTS_PER_S = 1e-5
"""About one a day. Fronts share times in nanoseconds, of which 64 bits hold 292 years."""

MAX_REQUESTS_PER_S = 1e6


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line of the file. Several keys may name one tenant, so that a key can be replaced without a gap."""

    tenant: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]{1,64}\Z")]
    """Name of the tenant, whose keys share caches and a part of the queue."""
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    """SHA-256 of the key's bytes, in hex."""
    max_requests_per_s: Annotated[float, Meta(ge=MIN_REQUESTS_PER_S, le=MAX_REQUESTS_PER_S)] | None = None
    """Rate limit of this key, with bursts of one second's worth; no limit when absent."""
    max_concurrent_requests: Annotated[int, Meta(ge=1)] | None = None
    """Limit of its requests under way; no limit when absent."""

    @property
    def is_limited(self) -> bool:
        """True if it has any limit of its own."""
        return self.max_requests_per_s is not None or self.max_concurrent_requests is not None


def new_key() -> str:
    """A new random key: `cen_` and 43 characters of base64url."""
    return KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)


def hash_key(key: bytes) -> bytes:
    """SHA-256 of a key as it was sent, 32 bytes."""
    return hashlib.sha256(key).digest()


def read_key_file(path: Path) -> tuple[ApiKey, ...]:
    """The keys of a file. Empty lines and lines that begin with `#` are skipped.

    Raises:
        SettingsError: it cannot be read, has no key or a duplicate, or a line is invalid.
    """
    try:
        lines = _read_regular(path).decode().splitlines()
    except OSError as error:
        raise SettingsError(f"--api-keys {path}: {error.strerror or 'cannot be read'}") from None
    except ValueError:
        raise SettingsError(f"--api-keys {path}: is not text in UTF-8") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    keys = tuple(_read_line(path, number, line) for number, line in numbered if not line.lstrip().startswith("#"))
    if not keys:
        raise SettingsError(f"--api-keys {path}: there is no key in it; `cenote key new NAME` makes one")
    if len({key.sha256 for key in keys}) != len(keys):
        raise SettingsError(f"--api-keys {path}: a key is there twice")
    return keys


def _read_regular(path: Path) -> bytes:
    """All bytes of a file of bounded size; nothing waits for a writer, as it would for that of a pipe.

    Raises:
        OSError: it cannot be opened or read.
        SettingsError: it is no regular file, or too large.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SettingsError(f"--api-keys {path}: is no regular file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise SettingsError(f"--api-keys {path}: is larger than the {MAX_FILE_BYTES} bytes accepted")
    return content


def _read_line(path: Path, number: int, line: str) -> ApiKey:
    try:
        return msgspec.json.decode(line.encode(), type=ApiKey)
    except msgspec.MsgspecError:  # its message may quote the line
        wanted = (
            'expected {"tenant": NAME, "sha256": HEX} as `cenote key new NAME` prints it, and perhaps '
            f"max_requests_per_s from {MIN_REQUESTS_PER_S:g} to {MAX_REQUESTS_PER_S:g}, max_concurrent_requests from 1"
        )
        raise SettingsError(f"--api-keys {path}, line {number}: {wanted}") from None
