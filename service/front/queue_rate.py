"""How fast the queue empties, measured, and so when a refused client should come back.

In: tokens that the engine has finished, and when the queue is empty. Out: tokens per second of busy time, encoding
included, over the last half minute or so; seconds to wait. Knows no limits.
"""

import math
import random
import time
from collections.abc import Callable

MIN_RETRY_S = 1.0
MAX_RETRY_S = 30.0
JITTER = 0.25
"""Clients refused together are told times this much apart, as a fraction, so that they do not come back together."""

MEMORY_S = 10.0
"""How long ago counts for a third of now."""

FIRST_GUESS = 1000.0
"""Tokens per second before anything was measured; worth one second of measuring."""


class QueueRate:
    """Tokens per second, forgetting slowly.

    Args:
        now: a monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._tokens = FIRST_GUESS
        self._busy_s = 1.0
        self._since_s = now()

    def begin(self) -> None:
        """The queue was empty until now: what passed since is nobody's work."""
        self._since_s = self._now()

    def finished(self, num_tokens: int) -> None:
        """The engine is through with so many tokens."""
        now_s = self._now()
        passed_s, self._since_s = max(now_s - self._since_s, 1e-6), now_s
        kept = math.exp(-passed_s / MEMORY_S)
        self._tokens = self._tokens * kept + num_tokens
        self._busy_s = self._busy_s * kept + passed_s

    @property
    def tokens_per_s(self) -> float:
        """What the engine does while there is work."""
        return self._tokens / self._busy_s

    def retry_after_s(self, num_tokens: int) -> float:
        """When so many tokens will be done: 1 to 30 s, spread at random.

        Args:
            num_tokens: what waits now.

        Source: reference/security-reliability.md section 5, "Overload sheds, never collapses".
        """
        wait_s = num_tokens / max(self.tokens_per_s, 1e-6) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        spread_s = random.uniform(0, JITTER)  # noqa: S311  # apart also where the wait is cut
        return min(MAX_RETRY_S - spread_s, max(MIN_RETRY_S + spread_s, wait_s))
