"""One stream from its first line to its last: reading, embedding and writing side by side, within one window.

In: a body that is heard piece by piece. Out: lines of answers, each group as soon as it is done, and what the last line
tells. Whoever cancels it cancels all that is under way; what it held comes back.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from litestar.types import Send

from schemas.embeddings import EmbeddingRequest
from schemas.rule_error import RuleError
from schemas.stream import StreamEnd
from service import metrics
from service.errors import ModelError, ServiceError, UnavailableError
from service.front.admission import Load
from service.front.bulk import embed_in_time
from service.front.job import Outcome
from service.front.line_toll import LineToll
from service.front.serving import Online
from service.front.stream_window import StreamWindow
from service.front.tenant import Caller
from service.front.turns import Turns
from service.http.errors import BUG
from service.http.late import lines_in_parts
from service.http.reply import SLICE_BYTES
from service.http.stream.answers import Tally
from service.http.stream.hearing import TICK_S, Hearing
from service.http.stream.items import Item, ItemReader, load_of
from service.http.stream.lines import Line, LineSplitter
from service.ipc.messages import OutputSpec
from service.stages import note_inside, open_stages, stage

logger = logging.getLogger("cenote.stream")


@dataclass(slots=True, kw_only=True)
class StreamSession:
    """What one stream needs.

    Attributes:
        online: the model and its engine.
        output: what is wanted of each line.
        caller: whose stream it is, and the patience for each line.
        hearing: its body.
        splitter: its lines.
        reader: what they ask for.
        window: what may be under way.
        toll: what its key pays.
        tally: what it has come to.
        turns: of the service.
        send: the server's.
        vector_bytes: of one vector.
    """

    online: Online
    output: OutputSpec
    caller: Caller
    hearing: Hearing
    splitter: LineSplitter
    reader: ItemReader
    window: StreamWindow
    toll: LineToll
    tally: Tally
    turns: Turns
    send: Send
    vector_bytes: int
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, model: str) -> StreamEnd:
        """Answer lines until the body ends, or there is a reason to read no more of it.

        Args:
            model: its name as the query gave it, for the last line.

        Returns:
            The last line, which is not written yet.
        """
        async with asyncio.TaskGroup() as answering:
            error = await self._read(answering)
        return self.tally.end(model, self.online.fingerprint, error)

    async def _read(self, answering: asyncio.TaskGroup) -> ServiceError | None:
        """Hand lines over as the window takes them; why the rest of the body was not read, or None."""
        try:
            while (piece := await self.hearing.piece(self.splitter.begun)) is not None:
                await self._hand_over(answering, self.splitter.feed(piece))
                await self._hold_begun(answering)
            await self._hand_over(answering, self.splitter.finish())
        except ServiceError as error:
            return error
        self.tally.num_lines = self.splitter.num_lines
        return None

    async def _hand_over(self, answering: asyncio.TaskGroup, lines: Iterator[Line | None]) -> None:
        async for group in self.reader.groups(lines):
            load = load_of(group, self.vector_bytes)
            await self._pay(len(group))
            await self.window.enter(load)
            if (reason := self.hearing.reason_to_stop()) is not None:
                raise reason  # what the window held goes with the stream
            answering.create_task(self._answer(group, load))
            self.tally.num_lines = group[-1].index + 1

    async def _pay(self, num_lines: int) -> None:
        while wait_s := self.toll.due_s(num_lines):
            if (reason := self.hearing.reason_to_stop()) is not None:
                raise reason
            await asyncio.sleep(min(wait_s, TICK_S))

    async def _hold_begun(self, answering: asyncio.TaskGroup) -> None:
        """Count the line that has begun; where the service has no room for it, that line fails and no other."""
        try:
            self.window.hold_begun(self.splitter.num_held)
        except UnavailableError as error:
            item = Item(self.splitter.num_lines, None, 0, error)
            self.splitter.drop()
            self.window.hold_begun(0)
            load = load_of([item], self.vector_bytes)
            await self.window.enter(load)
            answering.create_task(self._answer([item], load))
            self.tally.num_lines = item.index + 1

    async def _answer(self, group: Sequence[Item], load: Load) -> None:
        stages = open_stages()  # of this group's task alone: those of all lines of a stream would never end
        try:
            ends = await self._ends(group)
            with stage("write"):
                await self._write(group, ends)
        finally:
            self.window.leave(load)
        for name, ms in stages.ms().items():
            metrics.STAGE_SECONDS.labels(name).observe(ms / 1e3)

    async def _ends(self, group: Sequence[Item]) -> list[Outcome | RuleError]:
        """What became of each item, in the group's order."""
        requests = [item.request for item in group if isinstance(item.request, EmbeddingRequest)]
        outcomes = iter(await self._outcomes(requests) if requests else ())
        return [next(outcomes) if isinstance(item.request, EmbeddingRequest) else item.request for item in group]

    async def _outcomes(self, requests: Sequence[EmbeddingRequest]) -> Sequence[Outcome]:
        caller = replace(self.caller, deadline_s=time.monotonic() + self.caller.patience_s)
        make_job = partial(self.online.reader.lines_job, requests, self.output, caller.tenant)
        try:
            embedded = await embed_in_time(self.online.embedder, make_job, caller)
        except ServiceError as error:
            return [error] * len(requests)
        except Exception:
            logger.exception("lines of a stream failed", extra={"request_id": self.tally.request_id})
            return [ModelError("internal_error", BUG)] * len(requests)
        note_inside("queue", embedded.queue_ms)
        note_inside("inference", embedded.inference_ms)
        return embedded.outcomes

    async def _write(self, group: Sequence[Item], ends: Sequence[Outcome | RuleError]) -> None:
        """Write a group's lines behind those that were done before; while the client takes none, wait."""
        async with self._writing:
            slices = lines_in_parts(self.tally.lines(group, ends)).slices(SLICE_BYTES)
            while (body := await self.turns.take(partial(next, slices, None))) is not None:
                await self.send({"type": "http.response.body", "body": body, "more_body": True})
