"""One run: source, chooser, batcher, senders and writer, with bounded queues between them.

    source ─► split ──► choose ─► batch ─► window ─► senders ─► writer ─► sink, then ledger
    (thread)  (tokens)  (ledger)           (bytes)   (HTTP)     (thread)

A slow stage holds up the stages before it, so nothing accumulates.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from service.ingest.ledger.choosing import Chooser
from service.ingest.ledger.writing import Writer
from service.ingest.pause import Pause
from service.ingest.progress import Progress, RunCounts
from service.ingest.sending.batching import AskBatch, Batcher, ByteWindow
from service.ingest.sending.sending import Sender
from service.ingest.source_reader import SourceReader
from service.ingest.splitting import Splitting

LINGER_S = 0.2
"""Time that a partial batch waits for a slow source before it is sent."""
TELL_EVERY_S = 1.0


@dataclass(frozen=True)
class Pipeline:
    """The stages of one run."""

    reading: SourceReader
    splitting: Splitting
    chooser: Chooser
    batcher: Batcher
    sender: Sender
    writer: Writer
    window: ByteWindow
    _batches: asyncio.Queue[AskBatch | None] = field(default_factory=lambda: asyncio.Queue(1))

    async def run(self, num_senders: int) -> None:
        """Embed and write every item of the source that is not in the ledger, by `num_senders` concurrent requests."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.writer.run())
                await self._send_all(num_senders)
                await self.writer.end()
        except BaseExceptionGroup as errors:
            raise _first(errors) from None

    async def _send_all(self, num_senders: int) -> None:
        async with asyncio.TaskGroup() as senders:
            for _ in range(num_senders):
                senders.create_task(self._send())
            await self._feed()
            for _ in range(num_senders):
                await self._batches.put(None)

    async def _feed(self) -> None:
        """Turn items into batches until the source ends."""
        wait_s = None
        while (read := await self.reading.take(wait_s)) is not None:
            chosen = await self.chooser.choose(await self.splitting.split(read))
            for landing in (chosen.failures, chosen.relabelled):
                if landing:
                    await self.writer.put(landing)
            for asks in chosen.asks:
                await self._queue(self.batcher.add(asks))
            if not read:
                await self._queue(self.batcher.flush())
            wait_s = LINGER_S if read else None
        await self._queue(self.batcher.flush())

    async def _queue(self, full: Sequence[AskBatch]) -> None:
        for batch in full:
            await self.window.enter(batch.num_bytes)
            await self._batches.put(batch)

    async def _send(self) -> None:
        while (batch := await self._batches.get()) is not None:
            outcomes = await self.sender.embed(batch.asks)
            await self.writer.put(outcomes)
            await self.window.leave(batch.num_bytes)


async def report_progress(progress: Progress, counts: RunCounts, pause: Pause) -> None:
    """Report progress every `TELL_EVERY_S`, forever."""
    while True:
        counts.waited_s = pause.waited_s
        progress.tell()
        await asyncio.sleep(TELL_EVERY_S)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
