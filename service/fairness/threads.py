"""Threads and the event loop, shared fairly: large work runs in slices, and others have a turn between two of them."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, TypeVar

import msgspec

from service.fairness import Steps
from service.fairness.room import NUM_SPARE, FairRoom

T = TypeVar("T")

SLICE_S = 0.01
LOOK_S, MAX_LOOKS = 0.001, 20
"""Between two slices work gives way so long, two slices at most."""


def never() -> bool:
    """Nobody is given way to."""
    return False


class Done(msgspec.Struct, Generic[T], frozen=True):
    """The result of finished steps."""

    result: T


def all_at_once(steps: Steps[T]) -> T:
    """Run short steps in one go and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class FairThreads:
    """Threads of one kind of work.

    Args:
        num_threads: that work at once; there are two more, for the extra seats of `FairRoom`.
        small: largest size of small work; a slice of larger work takes about as long.
        num_spare: extra threads; 0 where work holds the GIL, so that they would gain nothing.
    """

    def __init__(self, num_threads: int, name: str, *, small: int, num_spare: int = NUM_SPARE) -> None:
        self._room = FairRoom(num_threads, num_spare=num_spare)
        self._pool = ThreadPoolExecutor(num_threads + num_spare, thread_name_prefix=name)
        self._small = small

    async def run(self, work: Callable[[], T], size: int, *, is_slice: bool = False) -> T:
        """Run work that has no steps.

        Args:
            size: of the work, in the unit of `small`.
            is_slice: whether it is a slice of larger work.
        """
        piece = await self._room.take(size, size="small" if size <= self._small and not is_slice else "large")
        running = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(running)
        finally:
            if running.done():
                self._room.give(piece)
            else:  # cancelled: the seat is kept until the thread is free
                self._room.give_after(running, piece)
            del running  # else an error's traceback would keep the error itself and the work's data

    async def run_steps(self, steps: Steps[T], size: int, *, others_work: Callable[[], bool] = never) -> T:
        """Run work slice by slice; after a cancellation no further slice begins.

        Args:
            size: of all of it, in the unit of `small`.
            others_work: while it is true the cores are left to others between two slices, for up to `MAX_LOOKS` looks.
        """
        if size <= self._small:
            return await self.run(lambda: all_at_once(steps), size)
        while (done := await self.run(lambda: _slice(steps), self._small, is_slice=True)) is None:
            for _ in range(MAX_LOOKS):
                if not others_work():
                    break
                await asyncio.sleep(LOOK_S)
        return done.result


def _slice(steps: Steps[T]) -> Done[T] | None:
    until_s = time.perf_counter() + SLICE_S
    try:
        while time.perf_counter() < until_s:
            next(steps)
    except StopIteration as end:
        return Done(end.value)
    return None


class LoopTimeSlices:
    """Long work on the event loop: one slice a turn of the loop, however many requests have some.

    Not a thread: what prints numbers holds Python's global lock, and a loop that asks for it waits a whole switch
    interval after each thread that has it. A slice of half a millisecond on the loop itself delays nobody by more.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self, work: Callable[[], T]) -> T:
        """Do a slice of work when its turn has come, and return what it gives.

        Args:
            work: takes a millisecond at most.
        """
        async with self._lock:
            result = work()
            await asyncio.sleep(0)
            return result


async def in_daemon_thread(work: Callable[[], T], name: str) -> T:
    """The result of `work`, in a thread that never keeps the process alive: a hung disk must not outlast Ctrl-C.

    Args:
        work: blocks.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: Callable[[], None]) -> None:
        if not future.done():
            result()

    def run() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001  # it is handed to whoever awaits
            outcome = partial(future.set_exception, error)
        else:
            outcome = partial(future.set_result, value)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
