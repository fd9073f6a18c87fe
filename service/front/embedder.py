"""One request's way through the service below HTTP: queue, prompts, engine, vectors. Every route comes this way."""

import asyncio
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from service.errors import DeadlineError, ServiceError
from service.fairness.threads import FairThreads, Steps, all_at_once
from service.front.admission import Admission, Place
from service.front.answer_room import AnswerRoom
from service.front.engine_host import PromptEngine
from service.front.job import Embedded, Job
from service.front.tenant import SERVICE, Caller
from service.ipc.messages import OutputSpec
from service.prompt.prompt import Prompt
from service.stages import stage

T = TypeVar("T")

SMALL_CHARS = 16_384
"""Texts of one request that are tokenized in one go: in some 10 ms, 50 for the worst there are."""
SMALL_MEDIA_CHARS = 1 << 20
"""Media of one request that are read in one go: base64, hash and header take 5 ms."""


class Embedder:
    """Prepares inputs, all but the shortest off the event loop, and waits for their vectors.

    Text and media have threads of their own: a text never waits behind a picture's base64 or decode. In each, requests
    take turns, so that none waits for all inputs of a large one.
    """

    def __init__(
        self, engine: PromptEngine, admission: Admission, answers: AnswerRoom, *, num_threads: int, timeout_s: float
    ) -> None:
        self._engine = engine
        self._admission = admission
        self._answers = answers
        self._timeout_s = timeout_s
        self._texts = FairThreads(num_threads, "text", small=SMALL_CHARS)
        self._headers = FairThreads(num_threads, "header", small=SMALL_MEDIA_CHARS)

    async def embed(self, job: Job, caller: Caller) -> Embedded:
        """One vector for each prompt of the job; all, or an error that names the input.

        A `per_item` job raises only for what concerns all of its inputs.

        Args:
            job: what is wanted.
            caller: who wants it, and until when.

        Raises:
            ServiceError: an input is at fault, the queue is full, the engine has gone, or time is up.
        """
        self._engine.check_open()
        hold = None if job.is_of_stream else self._answers.hold(job.answer_bytes, caller.tenant)
        try:
            async with asyncio.timeout(self._left_s(caller)):
                with self._admission.place(job.num_inputs, caller.tenant) as place:
                    began_s = time.perf_counter()
                    prepared = await self._prepared(job, place)
                    prompts = [one for one in prepared if isinstance(one, Prompt)]
                    num_tokens = sum(len(prompt.token_ids) for prompt in prompts)
                    self._admission.add_tokens(place, num_tokens, num_tokens * job.answer_token_bytes)
                    hold = hold or self._answers.hold(num_tokens * job.answer_token_bytes, caller.tenant)
                    prepare_ms = (time.perf_counter() - began_s) * 1e3
                    embedded = await self._engine.run(
                        dict(enumerate(prepared)), job.output, caller, per_item=job.per_item
                    )
        except TimeoutError:
            raise self._too_late(caller) from None
        except ServiceError as error:
            job.name_input(error)
            raise
        for outcome in embedded.outcomes if job.per_item else ():
            if isinstance(outcome, ServiceError):
                job.name_input(outcome)
        embedded.media_ms += prepare_ms
        embedded.hold = hold
        if job.settle is not None:
            job.settle(embedded)
        return embedded

    async def prepare(self, job: Job, caller: Caller) -> Sequence[Prompt | ServiceError]:
        """The prompts of a job, and nothing of the engine. Errors stand in their inputs' places if it is `per_item`.

        Raises:
            ServiceError: an input is at fault, the queue is full, or time is up.
        """
        try:
            async with asyncio.timeout(self._left_s(caller)):
                with self._admission.place(job.num_inputs, caller.tenant) as place:
                    prepared = await self._prepared(job, place)
                    prompts = [one for one in prepared if isinstance(one, Prompt)]
                    self._admission.add_tokens(place, sum(len(prompt.token_ids) for prompt in prompts))
                    return prepared
        except TimeoutError:
            raise self._too_late(caller) from None

    async def work(self, steps: Steps[T], num_chars: int) -> T:
        """Do other work on texts where texts are prepared.

        Args:
            steps: what to do.
            num_chars: how much text it is about.
        """
        return await self._texts.run_steps(steps, num_chars)

    async def probe(self, prompts: list[Prompt], output: OutputSpec) -> Embedded:
        """The same for the service's own question: no queue, no crowd, and before the engine is open to others.

        Raises:
            ServiceError: the engine has gone, or time is up.
        """
        self._engine.check_open(is_probe=True)
        async with asyncio.timeout(self._timeout_s):
            return await self._engine.run(dict(enumerate(prompts)), output, SERVICE, per_item=False)

    def _left_s(self, caller: Caller) -> float:
        """Seconds until the deadline; the service's own limit holds for everybody."""
        return min(self._timeout_s, caller.deadline_s - time.monotonic())

    def _too_late(self, caller: Caller) -> DeadlineError:
        message = f"no answer within {min(self._timeout_s, caller.patience_s):g} s"
        return DeadlineError(message, is_callers=caller.patience_s < self._timeout_s)

    async def _prepared(self, job: Job, place: Place) -> Sequence[Prompt | ServiceError]:
        if job.fetch is not None:
            with stage("fetch"):
                await job.fetch(partial(self._admission.add_bytes, place))
        threads = self._headers if job.has_media else self._texts
        with stage("prepare"):
            if job.is_short:
                return all_at_once(job.prepare())
            size = job.num_chars if job.fetch is None else sys.maxsize
            return await threads.run_steps(job.prepare(), size)
