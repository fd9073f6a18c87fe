"""One `/metrics` for all processes: each front is asked for its series, and they are merged with the main process's."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import count

from service import metrics
from service.merged_metrics import MergedMetrics
from service.processes.front_process import FrontProcess
from service.processes.messages import Merged, ScrapeFront

FRONT_TIMEOUT_S = 5.0
"""A front that does not answer for so long is left out."""

MAIN = -1
"""Stands for the main process among the fronts' indexes."""


class Scraping:
    """Gathers the series of all processes.

    Args:
        fronts: of which some may be starting.
        look: has what the engine has reported counted.
    """

    def __init__(self, fronts: Sequence[FrontProcess], look: Callable[[], None]) -> None:
        self._fronts = fronts
        self._look = look
        self._merged = MergedMetrics()
        self._merging = asyncio.Lock()
        self._numbers = count(1)
        self._asked: dict[tuple[int, int], asyncio.Future[None]] = {}
        self._newest: dict[int, bytes] = {}  # of each front that runs, what it said last
        self._tasks: set[asyncio.Task[None]] = set()

    async def scrape(self) -> bytes:
        """Every series. They are merged in a thread: to read them takes tens of milliseconds.

        What a front has said that ended before they are merged is no part of a running front: `gone` keeps it.
        """
        number, loop = next(self._numbers), asyncio.get_running_loop()
        asked: dict[int, asyncio.Future[None]] = {
            front.index: loop.create_future() for front in self._fronts if front.is_serving
        }
        for index, future in asked.items():
            self._asked[number, index] = future
            self._fronts[index].send(ScrapeFront(number=number))
        if asked:
            await asyncio.wait(asked.values(), timeout=FRONT_TIMEOUT_S)
        for index in asked:
            del self._asked[number, index]
        self._look()
        async with self._merging:
            answered = [index for index, one in asked.items() if one.done() and index in self._newest]
            texts = {index: self._newest[index] for index in answered}
            return await asyncio.to_thread(self._merged.render, {MAIN: metrics.render(), **texts})

    def asked(self, front: FrontProcess, number: int) -> None:
        """A front was asked for `/metrics`: answer it when all have said theirs."""
        self._begin(self._answer(front, number))

    def scraped(self, front: FrontProcess, number: int, text: bytes) -> None:
        """Take a front's series."""
        self._newest[front.index] = text
        if (future := self._asked.get((number, front.index))) is not None and not future.done():
            future.set_result(None)

    def gone(self, front: FrontProcess) -> None:
        """Keep what a front had counted by its last word: counters never fall."""
        for (_, index), future in self._asked.items():
            if index == front.index and not future.done():
                future.cancel()
        self._begin(self._keep(front.index, self._newest.pop(front.index, None)))

    async def _answer(self, front: FrontProcess, number: int) -> None:
        front.send(Merged(number=number, text=await self.scrape()))

    async def _keep(self, index: int, text: bytes | None) -> None:
        async with self._merging:
            self._merged.ended(index, text)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
