"""API keys: their file, the search for a request's key, and the limits of each key.

The file has one JSON object a line, with the hash of a key and its tenant; errors name the line and never its content.
A key has 256 random bits, so one SHA-256 is as safe as a slow hash and costs a microsecond. A client's key is compared
with every hash, each in constant time, so timing reveals neither how much of a key is right nor which key matched.
"""

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from service.errors import UnavailableError
from service.front.daemon_thread import in_daemon_thread
from service.front.tenant import Tenant
from service.settings import SettingsError

KEY_PREFIX = "cen_"
"""Prefix of all keys, by which scanners for leaked secrets recognize them."""

KEY_BYTES = 32


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line of the file. Several keys may name one tenant, so that a key can be replaced without a gap."""

    tenant: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]{1,64}\Z")]
    """Name of the tenant, whose keys share caches and a part of the queue."""
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    """SHA-256 of the key's bytes, in hex."""
    max_requests_per_s: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """Rate limit of this key, with bursts of one second's worth; no limit when absent."""
    max_concurrent_requests: Annotated[int, Meta(ge=1)] | None = None
    """Limit of its requests under way; no limit when absent."""


def new_key() -> str:
    """A new random key: `cen_` and 43 characters of base64url."""
    return KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)


def hash_key(key: bytes) -> bytes:
    """SHA-256 of a key as it was sent.

    Args:
        key: any bytes.

    Returns:
        32 bytes.
    """
    return hashlib.sha256(key).digest()


def read_key_file(path: Path) -> tuple[ApiKey, ...]:
    """The keys of a file. Empty lines and lines that begin with `#` are skipped.

    Raises:
        SettingsError: it cannot be read, has no key or a duplicate, or a line is invalid.
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
    except msgspec.MsgspecError:  # its message may quote the line
        wanted = 'expected {"tenant": NAME, "sha256": HEX} and perhaps limits, as `cenote key new NAME` prints it'
        raise SettingsError(f"--api-keys {path}, line {number}: {wanted}") from None


def _check_distinct(path: Path, keys: Sequence[ApiKey]) -> None:
    if len({key.sha256 for key in keys}) != len(keys):
        raise SettingsError(f"--api-keys {path}: a key is there twice")


def _reason(error: Exception) -> str:
    return (error.strerror or "cannot be read") if isinstance(error, OSError) else "is not text in UTF-8"


BUSY_RETRY_S = 1.0
"""`Retry-After` at the limit of concurrent requests: when one ends is not known."""


class KeyMeter:
    """Counts the requests of one key; survives a reload of the file.

    Attributes:
        key: the limits, as the file has them now.
        is_revoked: whether the file no longer has the key; long requests (streams) check it.
    """

    def __init__(self, key: ApiKey, now: Callable[[], float] = time.monotonic) -> None:
        self.key = key
        self.is_revoked = False
        self._now = now
        self._credit = self._most
        self._credited_s = now()
        self._num_under_way = 0

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request for the length of the `with`.

        Raises:
            UnavailableError: `rate_limit_exceeded`, at one of the key's limits.
        """
        most = self.key.max_concurrent_requests
        if most is not None and self._num_under_way >= most:
            message = f"this key has {self._num_under_way} requests under way; it may have {most}"
            raise UnavailableError("rate_limit_exceeded", message, retry_after_s=BUSY_RETRY_S)
        self._pay()
        self._num_under_way += 1
        try:
            yield
        finally:
            self._num_under_way -= 1

    @property
    def _most(self) -> float:
        """Most credit: one second's worth, at least one request."""
        return max(1.0, self.key.max_requests_per_s or 1.0)

    def due_s(self) -> float:
        """Charge a request if there is credit.

        Returns:
            Seconds until there is credit; 0 when it was charged.
        """
        rate = self.key.max_requests_per_s
        if rate is None:
            return 0.0
        now_s = self._now()
        self._credit = min(self._most, self._credit + (now_s - self._credited_s) * rate)
        self._credited_s = now_s
        if self._credit < 1.0:
            return (1.0 - self._credit) / rate
        self._credit -= 1.0
        return 0.0

    def _pay(self) -> None:
        if wait_s := self.due_s():
            message = f"this key may send {self.key.max_requests_per_s:g} requests a second"
            raise UnavailableError("rate_limit_exceeded", message, retry_after_s=wait_s)


logger = logging.getLogger("cenote.keys")

RELOAD_EVERY_S = 1.0

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class LoadedKey:
    """A key of the file."""

    digest: bytes
    tenant: Tenant
    meter: KeyMeter


class Keyring:
    """The keys of one file, reloaded when it changes.

    Raises:
        SettingsError: the file is invalid at the start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: Stamp | None = _stamp(path)
        self._known: tuple[LoadedKey, ...] = ()
        self._first = 0
        self._take(read_key_file(path))

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: bytes) -> LoadedKey | None:
        """The entry of a key, or None; takes equally long for each key and for none.

        Args:
            key: any bytes, as a client sent them.
        """
        digest = hash_key(key)
        known = self._turned()
        place = 0
        for index, one in enumerate(known, 1):
            place += index * hmac.compare_digest(digest, one.digest)
        return (None, *known)[place]

    def _turned(self) -> tuple[LoadedKey, ...]:
        """All keys, rotated by one each time: a few nanoseconds depend on the position of the right one in the loop."""
        known = self._known
        self._first = (self._first + 1) % len(known)
        return known[self._first :] + known[: self._first]

    async def watch(self) -> None:
        """Reload the file whenever it changes, until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            await self.reload_if_changed()

    def read_again(self) -> None:
        """Reload the file at the next check, changed or not."""
        self._stamp = None

    async def reload_if_changed(self) -> None:
        """Reload the file if it changed; an invalid file changes nothing and is logged once.

        It is read in a thread, so that a hanging disk delays no request.
        """
        try:
            keys = await in_daemon_thread(self._read_if_changed, "keys")
        except SettingsError as error:
            logger.error("%s; the keys stay as they were", error)
            return
        if keys is not None:
            self._take(keys)
            logger.info("the file of API keys was read again: %d %s", len(keys), "key" if len(keys) == 1 else "keys")

    def _read_if_changed(self) -> tuple[ApiKey, ...] | None:
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        return read_key_file(self._path)

    def _take(self, keys: tuple[ApiKey, ...]) -> None:
        meters = {known.digest: known.meter for known in self._known}
        self._known = tuple(_known(key, meters) for key in keys)
        left = {known.digest for known in self._known}
        for digest, meter in meters.items():
            meter.is_revoked = digest not in left


def _known(key: ApiKey, meters: dict[bytes, KeyMeter]) -> LoadedKey:
    digest = bytes.fromhex(key.sha256)
    meter = meters.get(digest) or KeyMeter(key)
    meter.key = key
    return LoadedKey(digest, Tenant.named(key.tenant), meter)


def _stamp(path: Path) -> Stamp:
    """Values that change whenever the file does; zeros when it does not exist. `ctime` cannot be set back."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0, 0
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
