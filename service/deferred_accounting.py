"""Work after answers that nobody waits for: counts and log lines, a moment later and together.

Requests that were batched are answered one right after the other, and their clients ask again: what is done between two
answers holds up all that follow, and the next batch with them.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from service.logs import together

logger = logging.getLogger("cenote.process")

DELAY_S = 0.005
"""By then the next batch has been sent to the engine."""
MAX_AT_ONCE = 32
"""Done in one turn of the loop: a millisecond and a half of requests."""
MAX_DUE = 1024
"""More is done without delay: memory is not for the work of a burst."""


class DeferredAccounting:
    """Work that is due; used on the event loop."""

    def __init__(self) -> None:
        self._due: deque[Callable[[], None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None  # that has been asked to come back

    def add(self, work: Callable[[], None]) -> None:
        """Do `work` soon, in the order of all that is added."""
        self._due.append(work)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # or the one that was asked has ended
            self._loop = loop
            loop.call_later(DELAY_S, self._go_on)
        if len(self._due) > MAX_DUE:
            self._do(1)

    def finish(self) -> None:
        """Do all of it now: somebody looks at the counts, or the process ends."""
        self._do(len(self._due))

    def _go_on(self) -> None:
        self._do(MAX_AT_ONCE)
        if self._due and self._loop is not None:
            self._loop.call_soon(self._go_on)
        else:
            self._loop = None

    def _do(self, most: int) -> None:
        with together():
            for _ in range(min(most, len(self._due))):
                work = self._due.popleft()
                try:
                    work()
                except Exception:  # the others are due all the same
                    logger.exception("a request could not be counted")


DEFERRED = DeferredAccounting()
"""The process's own."""
