"""A shared tier's counters, and the breaker that leaves it alone after failures."""

import threading
from collections import Counter
from typing import Literal

import msgspec

from service.ipc.reports import TierName, TierReport

MAX_FAILURES = 3
FIRST_REST_S = 1.0
LONGEST_REST_S = 60.0


Counted = Literal["num_hits", "num_misses", "num_evictions", "num_rejected", "num_corrupt"]


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
    """Counters of one tier since the start. Two threads count, a third reads.

    Attributes:
        last_success_s: when the tier last answered, whatever it said, in seconds since the epoch; 0 before.
    """

    def __init__(self, tier: TierName) -> None:
        """Start the counters of `tier` at 0."""
        self._tier: TierName = tier
        self._lock = threading.Lock()
        self._numbers: Counter[str] = Counter()
        self.last_success_s = 0.0

    def add(self, *names: Counted, by: int = 1) -> None:
        """Count what has happened, by fields of `TierReport`."""
        with self._lock:
            for name in names:
                self._numbers[name] += by

    def report(self, num_bytes: int, num_entries: int, *, is_up: bool) -> TierReport:
        """The counters, beside what is stored now."""
        report = TierReport(
            tier=self._tier,
            num_bytes=num_bytes,
            num_entries=num_entries,
            is_up=is_up,
            last_success_s=self.last_success_s,
        )
        with self._lock:
            return msgspec.structs.replace(report, **self._numbers)
