"""The shared tier on a disk: one file for each image's features. A broken or foreign file is a miss, and removed."""

import errno
import logging
import time
from pathlib import Path

from service.engine.shared_tiers.disk_folder import DiskFolder
from service.engine.shared_tiers.health import TierBreaker, TierCounts
from service.ipc.reports import TierReport

logger = logging.getLogger("cenote.engine")

LOCK_S = 2.0
"""Longest wait for other processes: less than it takes until a silent engine counts as stuck, at its start too."""

FOLDER = "cenote-features-v1"
"""Below the configured directory, so that what is evicted there is always ours."""


class DiskTier:
    """A `SharedTier` in a folder. A disk that fails, or is locked by others for too long, is left alone for a while."""

    def __init__(self, folder: Path, max_bytes: int, *, lock_s: float = LOCK_S) -> None:
        """Keep at most `max_bytes` below `folder`; wait at most `lock_s` for its lock. OSError: it cannot be used."""
        self._folder = DiskFolder(folder / FOLDER, max_bytes, lock_s)
        if not self._folder.is_counted:
            logger.warning(
                "the disk cache's lock is held by another process for more than %g s; it is read, and written to again "
                "once the lock is free",
                lock_s,
            )
        self.counts = TierCounts("disk")
        self._breaker = TierBreaker()

    def get(self, name: str) -> bytes | None:
        """The bytes under a name, or None."""
        try:
            blob = self._folder.read(name)
            self.counts.last_success_s = time.time()
        except OSError as error:
            self._failed(error)
            blob = None
        if blob is None:
            self.counts.add("num_misses")
        return blob

    def put(self, name: str, blob: bytes) -> None:
        """Store bytes, pushing out the least recently used."""
        if self._breaker.is_open(time.monotonic()):
            self.counts.add("num_rejected")
            return
        try:
            num_evicted = self._folder.write(name, blob)
        except OSError as error:
            self._failed(error)
            self.counts.add("num_rejected")
            return
        self._breaker.succeeded()
        self.counts.last_success_s = time.time()
        if num_evicted is None:
            self.counts.add("num_rejected")
        else:
            self.counts.add("num_evictions", by=num_evicted)

    def refuse(self, name: str) -> None:
        """Remove a file that was not valid."""
        self.counts.add("num_misses", "num_corrupt")
        try:
            self._folder.remove(name)
        except OSError as error:
            self._failed(error)

    def report(self) -> TierReport:
        """The folder as it was when this process last wrote to it."""
        return self.counts.report(self._folder.num_bytes, self._folder.num_files, is_up=self._breaker.is_up)

    def _failed(self, error: OSError) -> None:
        if self._breaker.failed(time.monotonic()):
            reason = errno.errorcode.get(error.errno or 0, "an unknown error")
            logger.warning("the disk cache fails with %s; it is not used for a while", reason)
