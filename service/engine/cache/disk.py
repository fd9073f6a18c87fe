"""The shared tier on a disk: one file for each picture's features. A broken or foreign file is a miss, and removed."""

import errno
import logging
import time
from pathlib import Path

from service.engine.cache.breaker import TierBreaker
from service.engine.cache.counts import Counts
from service.engine.cache.disk_folder import DiskFolder
from service.ipc.reports import TierReport

logger = logging.getLogger("cenote.engine")

FOLDER = "cenote-features-v1"
"""Below the configured directory, so that what is evicted there is always ours."""


class DiskTier:
    """A `SharedTier` in a folder. A disk that fails is left alone for a while."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """Keep at most `max_bytes` below `folder`.

        Raises:
            OSError: the folder cannot be used.
        """
        self._folder = DiskFolder(folder / FOLDER, max_bytes)
        self._counts = Counts("disk")
        self._breaker = TierBreaker()

    def get(self, name: str) -> bytes | None:
        """What is stored under a name."""
        try:
            blob = self._folder.read(name)
        except OSError as error:
            self._failed(error)
            blob = None
        if blob is None:
            self._counts.missed()
        return blob

    def put(self, name: str, blob: bytes) -> None:
        """Store bytes, pushing out the least recently used."""
        if self._breaker.is_open(time.monotonic()):
            self._counts.rejected()
            return
        try:
            num_evicted = self._folder.write(name, blob)
        except OSError as error:
            self._failed(error)
            self._counts.rejected()
            return
        self._breaker.succeeded()
        if num_evicted is None:
            self._counts.rejected()
        else:
            self._counts.evicted(num_evicted)

    def accept(self) -> None:
        """Count a hit."""
        self._counts.hit()

    def refuse(self, name: str) -> None:
        """Remove a file that was not sound."""
        self._counts.missed()
        try:
            self._folder.remove(name)
        except OSError as error:
            self._failed(error)

    def drop(self) -> None:
        """Count a write that came too fast."""
        self._counts.rejected()

    def report(self) -> TierReport:
        """The folder as it was when this process last wrote to it."""
        return self._counts.report(self._folder.num_bytes, self._folder.num_files)

    def _failed(self, error: OSError) -> None:
        if self._breaker.failed(time.monotonic()):
            reason = errno.errorcode.get(error.errno or 0, "an unknown error")
            logger.warning("the disk cache fails with %s; it is left alone for a while", reason)
