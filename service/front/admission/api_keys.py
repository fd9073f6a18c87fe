"""API keys: the search for a request's key, and the file's reload while the service runs.

A key has 256 random bits, so one SHA-256 is as safe as a slow hash and costs a microsecond. A client's key is compared
with every hash, each in constant time, so timing reveals neither how much of a key is right nor which key matched.
"""

import asyncio
import hmac
import logging
from dataclasses import dataclass
from itertools import chain, repeat
from operator import attrgetter
from pathlib import Path

from service.fairness.threads import in_daemon_thread
from service.front.admission.key_file import ApiKey, hash_key, read_key_file
from service.front.admission.key_meter import KeyMeter
from service.front.admission.shared_table import SharedTable
from service.front.tenant import Tenant
from service.settings.settings import SettingsError

logger = logging.getLogger("cenote.keys")

RELOAD_EVERY_S = 1.0
LATE_S = 5.0
"""A read that takes longer is said in the log, and again once a minute."""

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoadedKey:
    """A key of the file."""

    digest: bytes
    tenant: Tenant
    meter: KeyMeter


_DIGEST = attrgetter("digest")


class Keyring:
    """The keys of one file, reloaded when it changes.

    Args:
        table: of all fronts, which read the file themselves.

    Raises:
        SettingsError: the file is invalid at the start.
    """

    def __init__(self, path: Path, table: SharedTable) -> None:
        self._path = path
        self._table = table
        self._stamp = _stamp(path)
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
        known = self._known
        # One pass in C, since a loop takes some nanoseconds longer at some positions; rotated by one each time, since
        # what was found in one place is found sooner there again.
        self._first = first = (self._first + 1) % len(known)
        known = (*known, *known)[first : first + len(known)]
        are_equal = bytes(map(hmac.compare_digest, map(_DIGEST, known), repeat(hash_key(key))))
        return (None, *known)[are_equal.find(1) + 1]

    async def watch(self) -> None:
        """Reload the file whenever it changes, until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_EVERY_S)
            await self.reload_if_changed()

    def read_again(self) -> None:
        """Reload the file at the next check, changed or not."""
        self._stamp = ()

    async def reload_if_changed(self) -> None:
        """Reload the file if it changed; an invalid file changes nothing and is logged once.

        It is read in a thread, so that a hanging disk delays no request; nothing is reloaded meanwhile.
        """
        reading = asyncio.ensure_future(in_daemon_thread(self._read_if_changed, "keys"))
        try:
            for wait_s in chain((LATE_S,), repeat(60.0)):
                if (await asyncio.wait([reading], timeout=wait_s))[0]:
                    break
                logger.error(
                    "--api-keys %s: reading it is late; until it is read no key is added or revoked", self._path
                )
            keys = reading.result()
        except SettingsError as error:
            logger.error("%s; the keys stay as they were", error)
            return
        finally:
            reading.cancel()
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
        loaded = {}
        for key in keys:
            digest = bytes.fromhex(key.sha256)
            meter = meters.get(digest) or KeyMeter(key, self._table)
            meter.take(key)
            loaded[digest] = LoadedKey(digest, Tenant.named(key.tenant), meter)
        for digest, meter in meters.items():
            meter.is_revoked = digest not in loaded
        self._known = tuple(loaded.values())


def _stamp(path: Path) -> Stamp:
    """Values that change whenever the file does; zeros when it does not exist. `ctime` cannot be set back."""
    try:
        stat = path.stat()
    except OSError:
        return 0, 0, 0, 0
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
