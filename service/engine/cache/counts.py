"""What a shared tier has seen since the start: counts only rise. Counted by two threads, read by a third."""

import threading
import time

from service.ipc.reports import TierName, TierReport


class Counts:
    """Counters of one tier."""

    def __init__(self, tier: TierName) -> None:
        """Begin at nought for `tier`."""
        self._tier: TierName = tier
        self._lock = threading.Lock()
        self._num_hits = self._num_misses = self._num_evictions = self._num_rejected = self._num_corrupt = 0
        self._last_success_s = 0.0

    def hit(self) -> None:
        """Something was asked for, and was there and sound."""
        with self._lock:
            self._num_hits += 1

    def missed(self) -> None:
        """Something was asked for, and was not."""
        with self._lock:
            self._num_misses += 1

    def corrupt(self) -> None:
        """Something was there and not sound, which is a miss."""
        with self._lock:
            self._num_misses += 1
            self._num_corrupt += 1

    def succeeded(self) -> None:
        """The tier has answered, whatever it said."""
        self._last_success_s = time.time()

    def evicted(self, num: int) -> None:
        """So many were pushed out."""
        with self._lock:
            self._num_evictions += num

    def rejected(self) -> None:
        """Something was not stored."""
        with self._lock:
            self._num_rejected += 1

    def report(self, num_bytes: int, num_entries: int, *, is_up: bool) -> TierReport:
        """The counters, beside what is stored now."""
        with self._lock:
            return TierReport(
                tier=self._tier,
                num_hits=self._num_hits,
                num_misses=self._num_misses,
                num_bytes=num_bytes,
                num_entries=num_entries,
                num_evictions=self._num_evictions,
                num_rejected=self._num_rejected,
                num_corrupt=self._num_corrupt,
                is_up=is_up,
                last_success_s=self._last_success_s,
            )
