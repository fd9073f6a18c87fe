"""One stream from its first line to its last: reading, embedding and writing side by side, within one window.

Each group of lines is answered as soon as it is done. Cancelling the session cancels all that is under way, and gives
back what it held.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from litestar.types import Send
from msgspec import UNSET
from msgspec.structs import replace

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamEnd
from schemas.errors import RuleError
from service import metrics
from service.accounting import NOTED, Stages, stage
from service.errors import ModelError, ServiceError, UnavailableError
from service.fairness.threads import LoopTimeSlices
from service.front.admission.shared_table import Load
from service.front.admission.stream_bounds import StreamRateLimit, StreamWindow
from service.front.job import InputResult
from service.front.serving.model_serving import Online
from service.front.tenant import Caller
from service.http.errors import BUG
from service.http.responses.answer import in_parts, slices
from service.http.stream.answers import StreamTally
from service.http.stream.body import TICK_S, StreamBody
from service.http.stream.items import Item, ItemReader, load_of
from service.http.stream.lines import InputLine, LineSplitter
from service.outputs.dense import DenseAsk

logger = logging.getLogger("cenote.stream")


@dataclass(slots=True, kw_only=True)
class StreamSession:
    """The parts of one stream.

    Attributes:
        ask: of each line.
        caller: whose stream it is, and the time limit of each line.
        splitter: finds lines in the body.
        reader: makes requests of lines.
        window: bounds what is under way.
        rate_limit: of the stream's key.
        tally: counts what was answered.
        vector_bytes: of one vector.
    """

    online: Online
    ask: DenseAsk
    caller: Caller
    body: StreamBody
    splitter: LineSplitter
    reader: ItemReader
    window: StreamWindow
    rate_limit: StreamRateLimit
    tally: StreamTally
    turns: LoopTimeSlices
    send: Send
    vector_bytes: int
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, model: str, fingerprint: str) -> StreamEnd:
        """Answer lines until the body ends or must not be read on; returns the last line, which is not written yet.

        Args:
            model: its name as the query gave it.
            fingerprint: of all vectors.
        """
        async with asyncio.TaskGroup() as answering:
            error = await self._read(answering)
        return self.tally.end(model, fingerprint, error)

    async def _read(self, answering: asyncio.TaskGroup) -> ServiceError | None:
        """Start answering lines as the window admits them; returns why the rest of the body was not read, or None."""
        try:
            while (chunk := await self.body.next_chunk(self.splitter.begun)) is not None:
                await self._hand_over(answering, self.splitter.feed(chunk))
                await self._hold_begun(answering)
            await self._hand_over(answering, self.splitter.finish())
        except ServiceError as error:
            return error
        self.tally.num_lines = self.splitter.num_lines
        return None

    async def _hand_over(self, answering: asyncio.TaskGroup, lines: Iterator[InputLine | None]) -> None:
        async for group in self.reader.groups(lines):
            load = load_of(group, self.vector_bytes)
            await self._pay(len(group))
            await self.window.enter(load)
            if (reason := self.body.reason_to_stop()) is not None:
                raise reason  # the window gives back what it held when the stream ends
            answering.create_task(self._answer(group, load))
            self.tally.num_lines = group[-1].index + 1

    async def _pay(self, num_lines: int) -> None:
        while wait_s := self.rate_limit.due_s(num_lines):
            if (reason := self.body.reason_to_stop()) is not None:
                raise reason
            await asyncio.sleep(min(wait_s, TICK_S))

    async def _hold_begun(self, answering: asyncio.TaskGroup) -> None:
        """Count the bytes of the line that has begun; where the service has no room for it, that line alone fails."""
        try:
            self.window.hold_begun(self.splitter.num_held)
        except UnavailableError as error:
            item = Item(self.splitter.num_lines, UNSET, 0, error)
            self.splitter.drop()
            self.window.hold_begun(0)
            load = load_of([item], self.vector_bytes)
            await self.window.enter(load)
            answering.create_task(self._answer([item], load))
            self.tally.num_lines = item.index + 1

    async def _answer(self, group: Sequence[Item], load: Load) -> None:
        NOTED.set(stages := Stages())  # of this group's task alone: those of the whole stream would overlap
        try:
            results = await self._results(group, stages)
            with stage("write"):
                await self._write(group, results)
        finally:
            self.window.leave(load)
        for name, ms in stages.ms().items():
            metrics.STAGE_SECONDS.observe(name, ms / 1e3)

    async def _results(self, group: Sequence[Item], stages: Stages) -> list[InputResult | RuleError]:
        """The vector or the error of each item, in the group's order."""
        requests = [item.request for item in group if isinstance(item.request, EmbeddingRequest)]
        results = iter(await self._embed(requests, stages) if requests else ())
        return [next(results) if isinstance(item.request, EmbeddingRequest) else item.request for item in group]

    async def _embed(self, requests: Sequence[EmbeddingRequest], stages: Stages) -> Sequence[InputResult]:
        caller = replace(self.caller, deadline_s=time.monotonic() + self.caller.patience_s)
        try:
            job = self.online.reader.lines_job(requests, (self.ask,), caller.tenant)
            result = await self.online.embedder.embed_in_time(job, caller)
        except ServiceError as error:
            return [error] * len(requests)
        except Exception:
            logger.exception("lines of a stream failed", extra={"request_id": self.tally.request_id})
            return [ModelError("internal_error", BUG)] * len(requests)
        stages.inside_ms.update(queue=result.queue_ms, inference=result.inference_ms)
        return result.inputs

    async def _write(self, group: Sequence[Item], results: Sequence[InputResult | RuleError]) -> None:
        """Write a group's lines after those that were done before; wait while the client reads none."""
        async with self._writing:
            printed = slices(in_parts(self.tally.lines(group, results), as_lines=True))
            while (body := await self.turns.take(lambda: next(printed, None))) is not None:
                await self.send({"type": "http.response.body", "body": body, "more_body": True})
