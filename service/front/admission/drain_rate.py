"""Rate at which the queue empties, and the time at which a refused client should come back."""

import math
import random
import time
from collections.abc import Callable

from service.front.admission.shared_table import Published, SharedTable

RATE = "rate"
"""Its name in the table of all fronts."""

MIN_RETRY_S = 1.0
MAX_RETRY_S = 30.0
JITTER = 0.25
"""Spread of `Retry-After`, as a fraction, so that clients that were refused together do not come back together."""

MEMORY_S = 10.0
"""Time constant of the average: what is this old weighs a third (1/e)."""

FIRST_GUESS = 1000.0
"""Tokens per second before anything was measured; weighs as one second of measurements."""


class DrainRate:
    """Tokens per second, as an exponential moving average. Encoding takes time too: the time between forwards counts.

    Measured only while the queue holds tokens: the health probes of an idle hour would make
    an engine look a hundred times slower than it is.

    Of several fronts each measures the whole service, for as long as its own queue holds tokens: it counts what the
    others have finished in that time, too.

    Args:
        table: of all fronts.
        now: a monotonic clock, in seconds.
        whole: the rate of all models, which is told what this one's engine finishes; None where this is it.
        prefix: of its name in the table.
    """

    def __init__(
        self,
        table: SharedTable,
        now: Callable[[], float] = time.monotonic,
        whole: "DrainRate | None" = None,
        prefix: str = "",
    ) -> None:
        self._whole = whole
        self._now = now
        self._table = table
        self._name = prefix + RATE
        self._num_finished = 0
        self._num_theirs = 0  # finished by the others, when last looked
        self._measured_ns = 0
        self._tokens = FIRST_GUESS
        self._busy_s = 1.0
        self._is_running = False  # the queue holds tokens
        self._since_s = 0.0  # of the last measurement

    def clock(self, *, is_running: bool) -> None:
        """Start the clock when the queue gets tokens, or stop it when it has none left."""
        self._is_running, self._since_s = is_running, self._now()
        self._num_theirs = sum(one.first for one in self._table.others(self._name))

    def finished(self, num_tokens: int) -> None:
        """Count tokens that the engine has finished for this front."""
        if self._whole is not None:
            self._whole.finished(num_tokens)
        self._num_finished += num_tokens
        if self._is_running:
            now_s = self._now()
            passed_s, self._since_s = max(now_s - self._since_s, 1e-6), now_s
            kept = math.exp(-passed_s / MEMORY_S)
            num_before, self._num_theirs = self._num_theirs, sum(one.first for one in self._table.others(self._name))
            gained = max(0, self._num_theirs - num_before)  # below 0 where another front has died
            self._tokens = self._tokens * kept + num_tokens + gained
            self._busy_s = self._busy_s * kept + passed_s
            self._measured_ns = int(now_s * 1e9)
        per_s = self._tokens / self._busy_s
        self._table.publish(self._name, self._num_finished, round(per_s * 1e3), until_ns=self._measured_ns)

    @property
    def tokens_per_s(self) -> float:
        """Throughput of the engine while there is work, as the front has it that measured last."""
        latest = max(self._table.others(self._name), key=lambda one: one.until_ns, default=Published())
        return latest.second / 1e3 if latest.until_ns > self._measured_ns else self._tokens / self._busy_s

    def retry_after_s(self, num_tokens: int) -> float:
        """Seconds until so many tokens are done: 1 to 30, spread at random.

        Args:
            num_tokens: that wait now.
        """
        wait_s = num_tokens / max(self.tokens_per_s, 1e-6) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        spread_s = random.uniform(0, JITTER)  # noqa: S311  # spread also at the bounds
        return min(MAX_RETRY_S - spread_s, max(MIN_RETRY_S + spread_s, wait_s))
