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
        self._asked: dict[tuple[int, int], asyncio.Future[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def scrape(self) -> bytes:
        """Every series. They are merged in a thread: to read them takes tens of milliseconds."""
        number = next(self._numbers)
        new_future = asyncio.get_running_loop().create_future
        asked = {front.index: new_future() for front in self._fronts if front.is_serving}
        for index, future in asked.items():
            self._asked[number, index] = future
            self._fronts[index].send(ScrapeFront(number=number))
        if asked:
            await asyncio.wait(asked.values(), timeout=FRONT_TIMEOUT_S)
        for index in asked:
            del self._asked[number, index]
        texts = {index: one.result() for index, one in asked.items() if one.done() and not one.cancelled()}
        self._look()
        async with self._merging:
            return await asyncio.to_thread(self._merged.render, {MAIN: metrics.render(), **texts})

    def asked(self, front: FrontProcess, number: int) -> None:
        """A front was asked for `/metrics`: answer it when all have said theirs."""
        self._begin(self._answer(front, number))

    def scraped(self, front: FrontProcess, number: int, text: bytes) -> None:
        """Take a front's series."""
        if (future := self._asked.get((number, front.index))) is not None and not future.done():
            future.set_result(text)

    def gone(self, front: FrontProcess) -> None:
        """Keep what a front had counted when it was last asked: counters never fall."""
        for (_, index), future in self._asked.items():
            if index == front.index and not future.done():
                future.cancel()
        self._begin(self._keep(front.index))

    async def _answer(self, front: FrontProcess, number: int) -> None:
        front.send(Merged(number=number, text=await self.scrape()))

    async def _keep(self, index: int) -> None:
        async with self._merging:
            self._merged.ended(index)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
