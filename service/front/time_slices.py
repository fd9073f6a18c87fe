"""Long work on the event loop, in slices: one slice a turn of the loop, however many requests have some.

Not a thread: what prints numbers holds Python's global lock, and a loop that asks for it waits a whole switch interval
after each thread that has it. A slice of half a millisecond on the loop itself delays nobody by more than that.
Knows no HTTP.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class LoopTimeSlices:
    """First come, first served; between two slices everybody else has a turn."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self, work: Callable[[], T]) -> T:
        """Do a slice of work when its turn has come.

        Args:
            work: takes a millisecond at most.

        Returns:
            What it gives.
        """
        async with self._lock:
            result = work()
            await asyncio.sleep(0)
            return result
