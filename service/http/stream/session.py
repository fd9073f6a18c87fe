"""One stream from its first line to its last: reading, embedding and writing side by side, within one window.

Each group of lines is answered as soon as it is done. Cancelling the session cancels all that is under way, and gives
back what it held.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from litestar.types import Receive, Scope, Send
from msgspec import UNSET
from msgspec.structs import replace

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamEnd
from schemas.errors import RuleError
from service import metrics
from service.accounting import EVERYONE, NOTED, Stages, stage
from service.errors import ModelError, ServiceError, UnavailableError
from service.front.admission.load import NOTHING, ONE_MORE, Load
from service.front.admission.stream_bounds import StreamRateLimit, StreamWindow
from service.front.job import InputResult
from service.front.serving.model_serving import Online
from service.front.serving.serving import Serving
from service.front.tenant import Caller
from service.http.errors import BUG
from service.http.request import context_of
from service.http.responses.answer import FINGERPRINT, in_parts, slices
from service.http.stream.answers import StreamTally
from service.http.stream.body import TICK_S, StreamBody
from service.http.stream.items import Item, ItemReader, load_of
from service.http.stream.lines import InputLine, LineSplitter
from service.outputs.dense import DenseAsk, VectorFormat

logger = logging.getLogger("cenote.stream")


BATCHES = 4
"""Tokens under way, in batches of the engine: one runs, one is ready, one is made, one is written."""

COMPONENT_BYTES = 4
"""Of one component of a vector, at most."""

NDJSON = b"application/x-ndjson"

HEADERS = [(b"content-type", NDJSON), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
"""A proxy that buffers lines would defeat the stream; the last turns nginx's buffer off."""


@dataclass(frozen=True, slots=True)
class EmbeddingStream:
    """The ASGI app of one stream whose query is valid.

    Attributes:
        ask: of each line.
        rate_limit: of its key.
        name: the model's, as the query gave it.
    """

    serving: Serving
    online: Online
    base: EmbeddingRequest
    ask: DenseAsk
    caller: Caller
    rate_limit: StreamRateLimit
    name: str

    @property
    def fingerprint(self) -> str:
        """Of all its vectors."""
        return self.online.fingerprint_as_written if self.base.part_order == "as_written" else self.online.fingerprint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin the answer before the body has ended, and end it with a line that says whether it is complete."""
        context, settings = context_of(scope), self.serving.settings
        tally = StreamTally(context.id, VectorFormat.of(self.base), self.caller.tenant.name or EVERYONE)
        lease = self.serving.queue.take(self.caller.tenant, NOTHING, ONE_MORE)
        with lease, metrics.STREAMS.track_inprogress():
            limits = Load(settings.max_stream_lines, BATCHES * settings.max_batch_tokens, settings.max_body_bytes)
            window = StreamWindow(limits, lease, self.online.embedder.queue)
            body = StreamBody(receive, self.serving, self.rate_limit, window)
            await body.open()
            made_by = (FINGERPRINT, self.fingerprint.encode())
            await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, made_by]})
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # sends the head
            try:
                end = await StreamSession(self, body, window, tally, send).run()
            finally:
                context.log_fields.update(tally.log_fields())
            last = msgspec.json.encode(end) + b"\n"
            await send({"type": "http.response.body", "body": last, "more_body": True})
            if not body.is_silent:
                await body.linger()
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class StreamSession:
    """The work of one stream; its window bounds what is under way."""

    def __init__(
        self, stream: EmbeddingStream, body: StreamBody, window: StreamWindow, tally: StreamTally, send: Send
    ) -> None:
        serving = stream.serving
        max_bytes, ignores_unknown = serving.settings.max_body_bytes, serving.settings.unknown_fields == "ignore"
        self._stream, self._body, self._window, self._tally, self._send = stream, body, window, tally, send
        self._splitter = LineSplitter(max_bytes)
        self._reader = ItemReader(stream.base, max_bytes, ignores_unknown, serving.turns, serving.bodies)
        self._vector_bytes = stream.ask.dimensions * COMPONENT_BYTES
        self._writing = asyncio.Lock()

    async def run(self) -> StreamEnd:
        """Answer lines until the body ends or must not be read on; returns the last line, which is not written yet."""
        async with asyncio.TaskGroup() as answering:
            error = await self._read(answering)
        return self._tally.end(self._stream.name, self._stream.fingerprint, error)

    async def _read(self, answering: asyncio.TaskGroup) -> ServiceError | None:
        """Start answering lines as the window admits them; returns why the rest of the body was not read, or None."""
        try:
            while (chunk := await self._body.next_chunk(self._splitter.begun)) is not None:
                await self._hand_over(answering, self._splitter.feed(chunk))
                await self._hold_begun(answering)
            await self._hand_over(answering, self._splitter.finish())
        except ServiceError as error:
            return error
        self._tally.num_lines = self._splitter.num_lines
        return None

    async def _hand_over(self, answering: asyncio.TaskGroup, lines: Iterator[InputLine | None]) -> None:
        async for group in self._reader.groups(lines):
            load = load_of(group, self._vector_bytes)
            await self._pay(len(group))
            await self._window.enter(load)
            if (reason := self._body.reason_to_stop()) is not None:
                raise reason  # the window gives back what it held when the stream ends
            answering.create_task(self._answer(group, load))
            self._tally.num_lines = group[-1].index + 1

    async def _pay(self, num_lines: int) -> None:
        while wait_s := self._stream.rate_limit.due_s(num_lines):
            if (reason := self._body.reason_to_stop()) is not None:
                raise reason
            await asyncio.sleep(min(wait_s, TICK_S))

    async def _hold_begun(self, answering: asyncio.TaskGroup) -> None:
        """Count the bytes of the line that has begun; where the service has no room for it, that line alone fails."""
        try:
            self._window.hold_begun(self._splitter.num_held)
        except UnavailableError as error:
            item = Item(self._splitter.num_lines, UNSET, 0, error)
            self._splitter.drop()
            self._window.hold_begun(0)
            load = load_of([item], self._vector_bytes)
            await self._window.enter(load)
            answering.create_task(self._answer([item], load))
            self._tally.num_lines = item.index + 1

    async def _answer(self, group: Sequence[Item], load: Load) -> None:
        NOTED.set(stages := Stages())  # of this group's task alone: those of the whole stream would overlap
        try:
            results = await self._results(group, stages)
            with stage("write"):
                await self._write(group, results)
        finally:
            self._window.leave(load)
        for name, ms in stages.ms().items():
            metrics.STAGE_SECONDS.observe(name, ms / 1e3)

    async def _results(self, group: Sequence[Item], stages: Stages) -> list[InputResult | RuleError]:
        """The vector or the error of each item, in the group's order."""
        requests = [item.request for item in group if isinstance(item.request, EmbeddingRequest)]
        results = iter(await self._embed(requests, stages) if requests else ())
        return [next(results) if isinstance(item.request, EmbeddingRequest) else item.request for item in group]

    async def _embed(self, requests: Sequence[EmbeddingRequest], stages: Stages) -> Sequence[InputResult]:
        caller = replace(self._stream.caller, deadline_s=time.monotonic() + self._stream.caller.patience_s)
        try:
            job = self._stream.online.reader.lines_job(requests, (self._stream.ask,), caller.tenant)
            result = await self._stream.online.embedder.embed_in_time(job, caller)
        except ServiceError as error:
            return [error] * len(requests)
        except Exception:
            logger.exception("lines of a stream failed", extra={"request_id": self._tally.request_id})
            return [ModelError("internal_error", BUG)] * len(requests)
        stages.inside_ms.update(queue=result.queue_ms, inference=result.inference_ms)
        return result.inputs

    async def _write(self, group: Sequence[Item], results: Sequence[InputResult | RuleError]) -> None:
        """Write a group's lines after those that were done before; wait while the client reads none."""
        async with self._writing:
            printed = slices(in_parts(self._tally.lines(group, results), as_lines=True))
            while (body := await self._stream.serving.turns.take(lambda: next(printed, None))) is not None:
                await self._send({"type": "http.response.body", "body": body, "more_body": True})
