"""Threads that parties share fairly: what is large is done in slices, and between two of them others have a turn."""

import asyncio
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from service.fairness.room import NUM_SPARE, FairRoom

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that stops wherever it may be left lying for a while, and returns its result."""

SLICE_S = 0.01


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What steps have returned."""

    result: T


def all_at_once(steps: Steps[T]) -> T:
    """The result of steps that nobody has to wait for."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class FairThreads:
    """Threads of one kind of work.

    Args:
        num_threads: that have work at once; there are two more for those who would wait too long.
        name: of the threads.
        small: work of up to this size is small, and a slice of larger work takes about as long.
        num_spare: 0 where work holds Python's global lock, and more threads would do nothing sooner.
    """

    def __init__(self, num_threads: int, name: str, *, small: int, num_spare: int = NUM_SPARE) -> None:
        self._room = FairRoom(num_threads, num_spare=num_spare)
        self._pool = ThreadPoolExecutor(num_threads + num_spare, thread_name_prefix=name)
        self._small = small

    async def run(self, work: Callable[[], T], size: int) -> T:
        """Do work that has no steps.

        Args:
            work: what to do.
            size: of the work, in the unit of `small`.
        """
        is_small = size <= self._small
        return await self._piece(work, size, is_small=is_small)

    async def run_steps(self, steps: Steps[T], size: int) -> T:
        """Do work slice by slice; who gives up leaves the slices that have not begun undone.

        Args:
            steps: what to do.
            size: of all of it, in the unit of `small`.
        """
        if size <= self._small:
            return await self._piece(lambda: all_at_once(steps), size, is_small=True)
        while (done := await self._piece(lambda: _slice(steps), self._small, is_small=False)) is None:
            pass
        return done.result

    async def _piece(self, work: Callable[[], T], cost: int, *, is_small: bool) -> T:
        piece = await self._room.take(cost, is_small=is_small)
        running = asyncio.get_running_loop().run_in_executor(self._pool, work)

        def ended(running: asyncio.Future[T]) -> None:
            self._room.give(piece)
            running.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        running.add_done_callback(ended)
        try:
            return await asyncio.shield(running)  # who gives up gives no room back before the thread is free again
        finally:
            del running  # an error has this frame, and so would keep itself and all that the work was about


def _slice(steps: Steps[T]) -> Done[T] | None:
    until_s = time.perf_counter() + SLICE_S
    try:
        while time.perf_counter() < until_s:
            next(steps)
    except StopIteration as end:
        return Done(end.value)
    return None
