"""Writes outcomes to the sink, then to the ledger: in this order, by one thread, so a kill loses or doubles nothing.

What is taken out leaves the ledger first, which remembers it until it has left the sink.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import TypeVar

from service.ingest.errors import FailureReason, IngestError
from service.ingest.item import FailedAsk, Point, Relabelled
from service.ingest.ledger.choosing import Chooser
from service.ingest.ledger.dead_letters import DeadLetters
from service.ingest.ledger.ledger import Ledger
from service.ingest.progress import RunCounts
from service.ingest.sending.sending import Outcome
from service.ingest.sinks.patience import PatientSink
from service.ingest.sinks.sink import Written
from service.ingest.vectors import Layout

T = TypeVar("T")

MAX_WAITING = 4
"""Batches of outcomes waiting to be written; beyond it senders wait."""


MAX_WRITE_BYTES = 16 << 20
"""Of vectors that wait for a full write."""
MAX_LEAVING = 512
"""Points that are taken out at once."""


class TooManyFailuresError(IngestError):
    """More items have failed than `--max-errors` allows."""


class Writer:
    """Collects points into large writes."""

    def __init__(
        self,
        sink: PatientSink,
        ledger: Ledger,
        dead: DeadLetters,
        chooser: Chooser,
        counts: RunCounts,
        max_errors: int,
    ) -> None:
        self.counts = counts
        self._patient = sink
        self._sink = sink.sink
        self._ledger = ledger
        self._dead = dead
        self._chooser = chooser
        self._max_errors = max_errors
        self._queue: asyncio.Queue[Sequence[Outcome | Relabelled] | None] = asyncio.Queue(MAX_WAITING)
        self._points: list[Point] = []
        self._num_bytes = 0
        self._thread = ThreadPoolExecutor(1, "sink")

    async def put(self, outcomes: Sequence[Outcome | Relabelled]) -> None:
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

        def written() -> Written:
            position = self._ledger.position
            return Written(position or 0, self._ledger.num_done(), is_first=position is None)

        await self._in_thread(lambda layout: self._patient.open(layout, written), layout)

    async def end_removals(self) -> None:
        """Take out of the sink what a run that was killed began to."""
        await self._in_thread(lambda _: self._remove_leaving(), None)

    async def remove_unseen(self, *, all_gone: bool) -> None:
        """Take out what the source has no more; without `all_gone` only parts of rows and files that are there."""
        await self._in_thread(lambda all_gone: self._remove_unseen(all_gone=all_gone), all_gone)

    async def __aenter__(self) -> "Writer":
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Write what was collected, if the sink accepts it, and close the sink. The first error is the run's."""
        if error:
            self._patient.hurry()
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

    async def _take(self, outcomes: Sequence[Outcome | Relabelled]) -> None:
        points = [outcome for outcome in outcomes if isinstance(outcome, Point)]
        failures = [outcome for outcome in outcomes if isinstance(outcome, FailedAsk)]
        if relabelled := [outcome for outcome in outcomes if isinstance(outcome, Relabelled)]:
            await self._in_thread(self._relabel, relabelled)
            self._chooser.landed([one.ask.point for one in relabelled])
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

    async def _in_thread(self, step: Callable[[T], None], given: T) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, step, given)

    def _write(self, points: Sequence[Point]) -> None:
        if self._sink.can_change:
            self._ledger.arrive(points)
        position = self._patient.write(points)
        self._mark(points, position)
        self.counts.points += len(points)

    def _relabel(self, points: Sequence[Relabelled]) -> None:
        self._ledger.arrive(points)
        self._patient.relabel(points)
        self._mark(points, self._ledger.position or 0)
        self.counts.relabelled += len(points)

    def _mark(self, points: Sequence[Point | Relabelled], position: int) -> None:
        if self._ledger.mark(points, position):
            self._dead.num_items = self.counts.failed = self._ledger.num_dead_items()

    def _remove_unseen(self, *, all_gone: bool) -> None:
        if all_gone and self._ledger.num_done() and not self._ledger.has_seen_some():
            raise IngestError(
                "--prune: the source has nothing of what the store has, so nothing was taken out; to start anew, "
                "delete the collection or table and the ledger"
            )
        if all_gone:
            self._ledger.leave_arriving()
            self._remove_leaving()
        while self._ledger.leave_unseen(MAX_LEAVING, all_gone=all_gone):
            self._remove_leaving()
        self._ledger.forget_unseen_failures()
        self._dead.num_items = self.counts.failed = self._ledger.num_dead_items()

    def _remove_leaving(self) -> None:
        while points := self._ledger.leaving(MAX_LEAVING):
            self._patient.delete(points)
            self._ledger.left(points)
            self.counts.pruned += len(points)

    def _record_failures(self, failures: Sequence[FailedAsk]) -> None:
        self._dead.add(failures)
        self.counts.failed = self._dead.num_items
