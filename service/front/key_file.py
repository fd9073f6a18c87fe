"""The file of API keys: one JSON object a line, with the hash of a key and whose it is.

In: the file's text. Out: `ApiKey`s, or an error that names the line and never its content. Also makes new keys. A key
has 256 random bits, so one SHA-256 is as good as a slow hash, and a check costs a microsecond: nobody can guess it, and
nobody can get it back from the file.
"""

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from service.settings import SettingsError

KEY_PREFIX = "cen_"
"""How keys begin, so that scanners for leaked secrets can know them."""

KEY_BYTES = 32


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line of the file. Several keys may name one tenant: that is how a key is replaced without a gap."""

    tenant: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]{1,64}\Z")]
    """Those who share caches and a share of the queue."""
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    """SHA-256 of the key's bytes, in hex."""
    max_requests_per_s: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """How many requests this key may send, a second's worth of them at once; no limit when absent."""
    max_concurrent_requests: Annotated[int, Meta(ge=1)] | None = None
    """How many of its requests may be under way; no limit when absent."""


def new_key() -> str:
    """A fresh key: `cen_` and 43 characters of base64url."""
    return KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)


def hash_key(key: bytes) -> bytes:
    """SHA-256 of a key as it was sent.

    Args:
        key: any bytes: a client may send what it likes.

    Returns:
        32 bytes.
    """
    return hashlib.sha256(key).digest()


def read_key_file(path: Path) -> tuple[ApiKey, ...]:
    """The keys of a file. Empty lines and lines that begin with `#` are passed over.

    Raises:
        SettingsError: it cannot be read, has no key, has one twice, or a line is not what a key looks like.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, ValueError) as error:  # not there, not UTF-8
        raise SettingsError(f"--api-keys {path}: {_reason(error)}") from None
    keys = tuple(_read_line(path, number, line) for number, line in enumerate(lines, 1) if _is_key(line))
    if not keys:
        raise SettingsError(f"--api-keys {path}: there is no key in it; `cenote key new NAME` makes one")
    _check_distinct(path, keys)
    return keys


def _is_key(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _read_line(path: Path, number: int, line: str) -> ApiKey:
    try:
        return msgspec.json.decode(line.encode(), type=ApiKey)
    except msgspec.MsgspecError:  # what it says may hold the line
        wanted = 'expected {"tenant": NAME, "sha256": HEX} and perhaps limits, as `cenote key new NAME` prints it'
        raise SettingsError(f"--api-keys {path}, line {number}: {wanted}") from None


def _check_distinct(path: Path, keys: Sequence[ApiKey]) -> None:
    if len({key.sha256 for key in keys}) != len(keys):
        raise SettingsError(f"--api-keys {path}: a key is there twice")


def _reason(error: Exception) -> str:
    return (error.strerror or "cannot be read") if isinstance(error, OSError) else "is not text in UTF-8"
