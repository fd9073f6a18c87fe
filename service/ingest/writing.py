"""Outcomes into the sink, then into the ledger: in this order, by one thread, so a kill loses and doubles nothing."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from service.ingest.choosing import Chooser
from service.ingest.dead_letters import DeadLetters
from service.ingest.errors import IngestError, Reason
from service.ingest.item import Failure, Point
from service.ingest.ledger import Ledger
from service.ingest.progress import Counts
from service.ingest.sending import Outcome
from service.ingest.sinks.sink import Sink

T = TypeVar("T", Point, Failure)

MAX_WAITING = 4
"""Batches of outcomes that wait to be written; senders wait behind them."""


class TooManyFailuresError(IngestError):
    """More items have failed than `--max-errors` allows."""


class Writer:
    """Collects points until a write is worth it.

    Attributes:
        counts: told what was written.
    """

    def __init__(
        self, sink: Sink, ledger: Ledger, dead: DeadLetters, chooser: Chooser, counts: Counts, max_errors: int | None
    ) -> None:
        self.counts = counts
        self._sink = sink
        self._ledger = ledger
        self._dead = dead
        self._chooser = chooser
        self._max_errors = max_errors
        self._queue: asyncio.Queue[Sequence[Outcome] | None] = asyncio.Queue(MAX_WAITING)
        self._points: list[Point] = []
        self._thread = ThreadPoolExecutor(1, "sink")

    async def put(self, outcomes: Sequence[Outcome]) -> None:
        """Hand over outcomes; waits while the sink is slower than the server."""
        await self._queue.put(outcomes)

    async def end(self) -> None:
        """No more will come: write what is there."""
        await self._queue.put(None)

    async def run(self) -> None:
        """Write until `end`.

        Raises:
            TooManyFailuresError: too many items have failed.
            IngestError: the sink fails.
        """
        loop = asyncio.get_running_loop()
        due_s = None
        while True:
            wait_s = None if due_s is None else max(0.0, due_s - loop.time())
            try:
                outcomes = await asyncio.wait_for(self._queue.get(), wait_s)
            except TimeoutError:
                await self.flush()
                due_s = None
                continue
            if outcomes is None:
                return await self.flush()
            await self._take(outcomes)
            if len(self._points) >= self._sink.batch_points:
                await self.flush()
            waits = self._points and self._sink.max_wait_s is not None
            due_s = (due_s or loop.time() + (self._sink.max_wait_s or 0)) if waits else None

    async def open(self, dimensions: int) -> None:
        """Open the sink where the ledger says that it ended, in the thread that will write to it.

        Raises:
            IngestError: it does not fit.
        """
        num_done = self._ledger.num_done()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._sink.open, dimensions, self._ledger.position, num_done)

    async def __aenter__(self) -> "Writer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is being written, write what was collected if the sink takes it, and close the sink."""
        with suppress(IngestError):  # the run has ended already, and says why
            await self.flush()
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._sink.close)
            await loop.run_in_executor(self._thread, self._dead.write_anew)
        finally:
            self._thread.shutdown()

    async def flush(self) -> None:
        """Write what has been collected, whatever it is worth.

        Raises:
            IngestError: the sink fails.
        """
        points, self._points = self._points, []
        if points:
            await self._in_thread(self._write, points)
            self._chooser.landed([point.ask.point for point in points])

    async def _take(self, outcomes: Sequence[Outcome]) -> None:
        points = [outcome for outcome in outcomes if isinstance(outcome, Point)]
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        for point in points:
            why = self._sink.refuses(point)
            if why is None:
                self._points.append(point)
            else:
                failures.append(Failure(point.ask, Reason("sink_refuses", why)))
        if failures:
            await self._in_thread(self._bury, failures)
            self._chooser.landed([failure.ask.point for failure in failures])
        if self._max_errors is not None and self._dead.num_items > self._max_errors:
            raise TooManyFailuresError(f"{self._dead.num_items} items have failed, more than --max-errors allows")

    async def _in_thread(self, step: Callable[[Sequence[T]], None], outcomes: Sequence[T]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, step, outcomes)

    def _write(self, points: Sequence[Point]) -> None:
        position = self._sink.write(points)
        with _told(self._ledger.path):
            self._ledger.mark(points, position)
        self.counts.points += len(points)

    def _bury(self, failures: Sequence[Failure]) -> None:
        with _told(self._dead.path):
            self._dead.add(failures)
        self.counts.failed = self._dead.num_items


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """A full disk, for instance, as the run's end."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise IngestError(f"{path}: {error}") from None
