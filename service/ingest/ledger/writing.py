"""Writes outcomes to the sink, then to the ledger: in this order, by one thread, so a kill loses or doubles nothing."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import TypeVar

from service.ingest.errors import FailureReason, IngestError
from service.ingest.item import FailedAsk, Point
from service.ingest.ledger.choosing import Chooser
from service.ingest.ledger.dead_letters import DeadLetters
from service.ingest.ledger.ledger import Ledger
from service.ingest.progress import RunCounts
from service.ingest.sending.sending import Outcome
from service.ingest.sinks.sink import Sink, Written
from service.ingest.vectors import Layout

T = TypeVar("T", Point, FailedAsk)

MAX_WAITING = 4
"""Batches of outcomes waiting to be written; beyond it senders wait."""


MAX_WRITE_BYTES = 16 << 20
"""Of vectors that wait for a full write."""


class TooManyFailuresError(IngestError):
    """More items have failed than `--max-errors` allows."""


class Writer:
    """Collects points into large writes."""

    def __init__(
        self, sink: Sink, ledger: Ledger, dead: DeadLetters, chooser: Chooser, counts: RunCounts, max_errors: int
    ) -> None:
        self.counts = counts
        self._sink = sink
        self._ledger = ledger
        self._dead = dead
        self._chooser = chooser
        self._max_errors = max_errors
        self._queue: asyncio.Queue[Sequence[Outcome] | None] = asyncio.Queue(MAX_WAITING)
        self._points: list[Point] = []
        self._num_bytes = 0
        self._thread = ThreadPoolExecutor(1, "sink")

    async def put(self, outcomes: Sequence[Outcome]) -> None:
        """Queue outcomes; waits while the sink is behind."""
        await self._queue.put(outcomes)

    async def end(self) -> None:
        """Signal the end of outcomes."""
        await self._queue.put(None)

    async def run(self) -> None:
        """Write outcomes until `end`.

        Raises:
            TooManyFailuresError: too many items have failed.
            IngestError: the sink fails.
        """
        loop = asyncio.get_running_loop()
        due_s = None
        while True:
            wait_s = None if due_s is None else max(0.0, due_s - loop.time())
            try:
                async with asyncio.timeout(wait_s):
                    outcomes = await self._queue.get()
            except TimeoutError:
                await self.flush()
                due_s = None
                continue
            if outcomes is None:
                return await self.flush()
            await self._take(outcomes)
            if len(self._points) >= self._sink.batch_points or self._num_bytes >= MAX_WRITE_BYTES:
                await self.flush()
            due_s = (due_s or loop.time() + self._sink.max_wait_s) if self._points else None

    async def open(self, layout: Layout) -> None:
        """Open the sink at the ledger's position, in the thread that writes."""
        position = self._ledger.position
        written = Written(position or 0, self._ledger.num_done(), is_first=position is None)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._sink.open, layout, written)

    async def __aenter__(self) -> "Writer":
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Write what was collected, if the sink accepts it, and close the sink. The first error is the run's."""
        with suppress(IngestError):  # the run has already ended with an error
            await self.flush()
        loop = asyncio.get_running_loop()
        try:
            for step in (self._sink.close, self._dead.rewrite):
                with suppress(IngestError) if error else nullcontext():
                    await loop.run_in_executor(self._thread, step)
        finally:
            self._thread.shutdown()

    async def flush(self) -> None:
        """Write what has been collected."""
        points, self._points, self._num_bytes = self._points, [], 0
        if points:
            await self._in_thread(self._write, points)
            self._chooser.landed([point.ask.point for point in points])

    async def _take(self, outcomes: Sequence[Outcome]) -> None:
        points = [outcome for outcome in outcomes if isinstance(outcome, Point)]
        failures = [outcome for outcome in outcomes if isinstance(outcome, FailedAsk)]
        for point in points:
            why = self._sink.refuses(point)
            if why is None:
                self._points.append(point)
                self._num_bytes += point.vectors.num_bytes
            else:
                failures.append(FailedAsk(point.ask, FailureReason("sink_refuses", why)))
        if failures:
            await self._in_thread(self._record_failures, failures)
            self._chooser.landed([failure.ask.point for failure in failures])
        if self._dead.num_items > self._max_errors:
            raise TooManyFailuresError(f"{self._dead.num_items} items have failed, more than --max-errors allows")

    async def _in_thread(self, step: Callable[[Sequence[T]], None], outcomes: Sequence[T]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, step, outcomes)

    def _write(self, points: Sequence[Point]) -> None:
        position = self._sink.write(points)
        self._ledger.mark(points, position)
        self.counts.points += len(points)

    def _record_failures(self, failures: Sequence[FailedAsk]) -> None:
        self._dead.add(failures)
        self.counts.failed = self._dead.num_items
