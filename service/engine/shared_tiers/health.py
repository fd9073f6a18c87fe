"""A shared tier's counters, and the breaker that leaves it alone after failures."""

import threading
import time

from service.ipc.reports import TierName, TierReport

MAX_FAILURES = 3
FIRST_REST_S = 1.0
LONGEST_REST_S = 60.0


class TierBreaker:
    """Closed: the tier is used. Open: it is not, until one try after a rest is let through.

    Source: Nygard, "Release It!", circuit breaker.
    """

    def __init__(self) -> None:
        self._num_failures = 0
        self._rest_s = FIRST_REST_S
        self._rests_until_s = 0.0

    @property
    def is_up(self) -> bool:
        """True if the tier did not fail when it was last tried."""
        return not self._num_failures

    def is_open(self, now_s: float) -> bool:
        """True if the tier is to be left alone."""
        return now_s < self._rests_until_s

    def succeeded(self) -> None:
        """The tier has answered: all is forgotten."""
        self._num_failures = 0
        self._rest_s = FIRST_REST_S

    def failed(self, now_s: float) -> bool:
        """The tier has failed; whether it is left alone from now on, for the first time since it last answered."""
        self._num_failures += 1
        if self._num_failures < MAX_FAILURES:
            return False
        self._rests_until_s = now_s + self._rest_s
        self._rest_s = min(LONGEST_REST_S, 2 * self._rest_s)
        return self._num_failures == MAX_FAILURES


class TierCounts:
    """Counters of one tier since the start. Two threads count, a third reads."""

    def __init__(self, tier: TierName) -> None:
        """Start the counters of `tier` at 0."""
        self._tier: TierName = tier
        self._lock = threading.Lock()
        self._num_hits = self._num_misses = self._num_evictions = self._num_rejected = self._num_corrupt = 0
        self._last_success_s = 0.0

    @property
    def has_succeeded(self) -> bool:
        """True if the tier has ever answered."""
        return self._last_success_s > 0

    def hit(self) -> None:
        """Something was asked for, and was there and valid."""
        with self._lock:
            self._num_hits += 1

    def missed(self) -> None:
        """Something was asked for, and was not."""
        with self._lock:
            self._num_misses += 1

    def corrupt(self) -> None:
        """Something was there and not valid, which is a miss."""
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
