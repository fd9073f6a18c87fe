"""Parts of one job: while the engine runs one, the next one waits for it, and those behind that are still texts."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from service.errors import ServiceError
from service.front.admission.answer_room import Hold
from service.front.admission.forward_rate import ForwardRate
from service.front.engine_client.engine_host import PromptEngine
from service.front.engine_client.in_time import LOOK_S, TIMES, too_much
from service.front.inputs.sources import num_chars
from service.front.job import EmbeddedInput, EmbedResult, InputResult, Job
from service.front.tenant import Caller
from service.ipc.bell import Bell
from service.prompt.prompt import Prompt
from service.stages import unnoted

NUM_AHEAD = 2
"""Parts that the engine has: one that runs and one that waits. The prompts of the next are made as soon as a forward is
over, in the gap before the one after it: on few cores, those that are made during one cost it as much."""
NUM_UNFINISHED = NUM_AHEAD + 1
"""Parts that have no result yet. That of the forward that is over is on its way when the engine is given the next."""

MAX_JUDGED = 32
"""Inputs of the first parts by which the time of others is judged, or those of the first where it has more."""

TakePart = Callable[[range, Sequence[InputResult], Hold | None], Awaitable[None]]
"""Takes the inputs of a part by index, their results, and what is reserved for the answer."""


class PartRuns:
    """The runs of a job's parts. Leaving the `async with` by an error ends them all.

    Args:
        engine: that runs them.
        bell: rings when a forward is over.
        job: whose parts they are.
        caller: who wants it.
        hold: on the bytes of the answer.
        take_part: is given the results of each part.
        forwards: how fast the model is.

    Attributes:
        job: whose parts they are.
    """

    def __init__(
        self,
        engine: PromptEngine,
        bell: Bell,
        job: Job,
        caller: Caller,
        hold: Hold | None,
        take_part: TakePart | None,
        forwards: ForwardRate,
    ) -> None:
        self.job = job
        self._engine = engine
        self._bell = bell
        self._caller = caller
        self._hold = hold
        self._take_part = take_part
        self._forwards = forwards
        self._judged: list[EmbeddedInput] = []
        self._num_judged_chars = 0
        self._next_look_s = 0.0
        self._runs: list[asyncio.Task[EmbedResult]] = []
        self._context = unnoted()
        self._room = asyncio.Semaphore(NUM_UNFINISHED)
        self._num_unfinished = 0
        self._is_time = asyncio.Event()
        self._error: Exception | None = None

    async def __aenter__(self) -> None:
        self._bell.listen(self._is_time.set)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bell.leave(self._is_time.set)
        if kind is not None:  # cancelled, for one
            for run in self._runs:
                run.cancel()
            await asyncio.gather(*self._runs, return_exceptions=True)
        self._runs.clear()  # an error's frames hold the runs, and these the error: all that it held would stay
        self._error = None

    async def is_time(self) -> None:
        """Wait until the prompts of another part should be made: the engine has room for them, or will have it soon."""
        if self._num_unfinished >= NUM_AHEAD:
            self._is_time.clear()
            await self._is_time.wait()

    async def has_room(self) -> None:
        """Wait until the engine has use for another part.

        Raises:
            ServiceError: of the first part that has failed.
        """
        await self._room.acquire()
        if self._error is not None:
            raise self._error

    async def check_in_time(self, rest: range) -> None:
        """Pass if inputs that wait may be done by the caller's deadline; the first parts say what their texts are like.

        Raises:
            DeadlineError: they cannot be.
        """
        now_s = time.monotonic()
        enough_s = TIMES * max(0.0, self._caller.deadline_s - now_s)
        if not self._judged or now_s < self._next_look_s:
            return
        self._next_look_s = now_s + LOOK_S
        judged = [one.prompt.token_ids for one in self._judged]
        per_char = sum(map(len, judged)) / max(1, self._num_judged_chars)
        texts = [one.source for one in self.job.inputs[rest.start :] if isinstance(one.source, str)]
        lengths = [min(round(len(text) * per_char), self.job.truncation.max_tokens) for text in texts]
        least_s, judged_s = self._forwards.plain_s(lengths), self._forwards.plain_s(map(len, judged))
        if least_s <= enough_s or not judged_s:
            return
        ran = [one.prompt.token_ids for one in self._judged if not one.vector.is_cached]
        least_s *= await asyncio.to_thread(self._forwards.least_s, ran, 0.0) / judged_s
        if least_s > enough_s:
            raise too_much(sum(lengths), least_s, self._caller)

    async def begin(self, part: range, prompts: Sequence[Prompt | ServiceError]) -> None:
        """Begin with a part, and return when the engine has it; errors stand in their inputs' places."""
        self._num_unfinished += 1
        self._runs.append(asyncio.create_task(self._run(part, prompts), context=self._context))
        await asyncio.sleep(0)  # or the prompts of the next would be made first

    async def result(self) -> EmbedResult:
        """The result of all parts together.

        Raises:
            ServiceError: of the first that failed.
        """
        return EmbedResult.joined(await asyncio.gather(*self._runs))

    async def _run(self, part: range, prompts: Sequence[Prompt | ServiceError]) -> EmbedResult:
        prepared, job = dict(zip(part, prompts, strict=True)), self.job
        try:
            result = await self._engine.run(prepared, job.output, self._caller, per_item=job.per_item)
            if len(self._judged) < MAX_JUDGED:
                self._judged += result.embedded
                self._num_judged_chars += sum(num_chars(one.source) for one in job.inputs[part.start : part.stop])
            if self._take_part is not None:
                job.name_inputs(result.inputs)
                await self._take_part(part, result.inputs, self._hold)
                result.forget_inputs()
        except Exception as error:
            self._error = self._error or error
            raise
        finally:
            self._num_unfinished -= 1
            self._room.release()
            if self._num_unfinished < NUM_AHEAD:
                self._is_time.set()
        return result
