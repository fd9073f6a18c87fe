"""Which key a client has sent, without telling by time how near a wrong one was; the file is read again as it changes.

In: a key's bytes. Out: its meter and its tenant, or None. What is compared are hashes, all of them, each in constant
time, so the time tells neither how much of a key is right nor which of the keys it is.
"""

import asyncio
import hmac
import logging
from dataclasses import dataclass
from pathlib import Path

from service.front.daemon_thread import in_daemon_thread
from service.front.key_file import ApiKey, hash_key, read_key_file
from service.front.key_meter import KeyMeter
from service.front.tenant import Tenant
from service.settings import SettingsError

logger = logging.getLogger("cenote.keys")

RELOAD_EVERY_S = 1.0

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """A key of the file."""

    digest: bytes
    tenant: Tenant
    meter: KeyMeter


class Keyring:
    """The keys of one file, as it is now.

    Raises:
        SettingsError: the file is not one of keys.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: Stamp | None = _stamp(path)
        self._known: tuple[Known, ...] = ()
        self._first = 0
        self._take(read_key_file(path))

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: bytes) -> Known | None:
        """The key of the file that has these bytes; takes as long whichever it is, and when it is none.

        Args:
            key: what a client has sent: any bytes.
        """
        digest = hash_key(key)
        known = self._turned()
        place = 0
        for index, one in enumerate(known, 1):
            place += index * hmac.compare_digest(digest, one.digest)
        return (None, *known)[place]

    def _turned(self) -> tuple[Known, ...]:
        """All keys, each time from another one on: a few nanoseconds depend on where in the loop the right one is."""
        known = self._known
        self._first = (self._first + 1) % len(known)
        return known[self._first :] + known[: self._first]

    async def watch(self) -> None:
        """Read the file again whenever it has changed, until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            await self.reload_if_changed()

    def read_again(self) -> None:
        """Have the file read at the next look, changed or not."""
        self._stamp = None

    async def reload_if_changed(self) -> None:
        """Take over what the file says now; a file that is not right changes nothing and is complained of once.

        It is read in a thread: a disk may hang, and no request waits for that.
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


def _known(key: ApiKey, meters: dict[bytes, KeyMeter]) -> Known:
    digest = bytes.fromhex(key.sha256)
    meter = meters.get(digest) or KeyMeter(key)
    meter.key = key
    return Known(digest, Tenant.named(key.tenant), meter)


def _stamp(path: Path) -> Stamp:
    """What changes whenever the file does; zeros when it is not there. The second cannot be set back."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0, 0
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
