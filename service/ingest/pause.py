"""Backoff shared by all senders: `Retry-After`, exponential waits, a concurrency limit, and a time to give up."""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from service.ingest.errors import IngestError
from service.ingest.progress import say

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0
"""Longest wait without a `Retry-After`."""
MAX_TOLD_S = 600.0
"""Longest `Retry-After` that is honored."""
GROWTH = 0.25
"""Added to the limit with each success."""
TELL_AFTER_S = 3.0
"""Seconds without a success after which the run says that it waits."""
JITTER = 0.25
"""Random part of a wait, so that senders do not retry at the same time."""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait; None if it does not.

    Source: RFC 9110, section 10.2.3 (seconds, or a date); `retry-after-ms` is OpenAI's.
    """
    try:
        if told := headers.get("retry-after-ms"):
            wait_s = float(told) / 1000
        elif not (told := headers.get("retry-after")):
            return None
        elif told.replace(".", "", 1).isdigit():
            wait_s = float(told)
        else:
            wait_s = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(MAX_TOLD_S, max(0.0, wait_s))  # in this order: NaN is no wait


def backoff_s(attempt: int) -> float:
    """Seconds of a wait that no server asks for: twice as long with each attempt."""
    return min(FIRST_WAIT_S * 2.0 ** min(attempt, 8), MAX_WAIT_S)


class Pause:
    """Backoff and concurrency limit of all senders.

    Attributes:
        waited_s: seconds of pauses so far, each counted once for all senders.
        limit: concurrent requests: halved by each pause, raised slowly by each success, so that requests that a full
            server refuses do not hold up the others again and again.
    """

    def __init__(self, give_up_s: float, max_at_once: int) -> None:
        """Give up after `give_up_s` seconds without a success; allow `max_at_once` concurrent requests."""
        self.waited_s = 0.0
        self.limit = float(max_at_once)
        self._max_at_once = max_at_once
        self._num_asking = 0
        self._has_asked = asyncio.Event()
        self._give_up_s = give_up_s
        self._until_s = 0.0
        self._failing_since_s = math.inf
        self._has_told = False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for permission to send; the request lasts as long as the context."""
        while (left_s := self._until_s - time.monotonic()) > 0 or self._num_asking >= self.limit:
            if left_s > 0:
                await asyncio.sleep(left_s * (1 + JITTER * random.random()))  # noqa: S311  # spreads, hides nothing
            else:
                self._has_asked.clear()
                await self._has_asked.wait()
        self._num_asking += 1
        try:
            yield
        finally:
            self._num_asking -= 1
            self._has_asked.set()

    def succeeded(self) -> None:
        """Record a success: the time to give up starts again."""
        self._failing_since_s = math.inf
        self._has_told = False
        self.limit = min(self.limit + GROWTH, self._max_at_once)

    def failed(self, wait_s: float, why: str) -> None:
        """Pause all senders for `wait_s`, as the server says or by `backoff_s`; end the run after `give_up_s` of it."""
        now_s = time.monotonic()
        self._failing_since_s = min(self._failing_since_s, now_s)
        if now_s - self._failing_since_s >= self._give_up_s:
            raise IngestError(f"the server has taken nothing for {self._give_up_s:g} s (--give-up-s); last: {why}")
        if now_s - self._failing_since_s >= TELL_AFTER_S and not self._has_told:
            self._has_told = True
            say(f"{why}; waiting for the server, at most {self._give_up_s:g} s (--give-up-s)")
        if now_s >= self._until_s:  # once a pause, however many requests it delays
            self.limit = max(self.limit / 2, 1.0)
        until_s = now_s + wait_s
        self.waited_s += max(0.0, until_s - max(self._until_s, now_s))
        self._until_s = max(self._until_s, until_s)
