"""One request's way through the service below HTTP: queue, prompts, engine, vectors. Every route comes this way."""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import TypeVar

from schemas.errors import ErrorCode
from service.accounting import stage, unnoted
from service.errors import ServiceError, UnavailableError
from service.fairness import Steps
from service.fairness.threads import FairThreads, all_at_once
from service.front.admission.budget import Budget, Lease, TimedLease
from service.front.admission.forward_rate import ForwardRate
from service.front.admission.load import Load
from service.front.engine_client.engine_host import PromptEngine
from service.front.inputs.checking import FIRST_CHARS
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.parts import PartSize, most_tokens, parts_of
from service.front.inputs.reader import InputReader
from service.front.inputs.sources import is_short, num_chars
from service.front.job import EmbeddedInput, EmbedResult, Job, by_chunk
from service.front.serving.resources import Resources
from service.front.tenant import SERVICE, Caller
from service.outputs.ask import Asks
from service.prompt.prompt import Prompt
from service.settings.settings import Settings

T = TypeVar("T")

SMALL_CHARS = 16_384
"""Texts of one request that are tokenized in one go: in some 10 ms, 50 for the worst there are."""
SMALL_MEDIA_CHARS = 1 << 20
"""Media of one request that are read in one go: base64, hash and header take 5 ms."""

PASSING: frozenset[ErrorCode] = frozenset({"overloaded", "rate_limit_exceeded", "engine_restarting"})
"""Refusals that time heals. An input that engines die of is refused for itself in the end (`suspects.py`)."""

FIRST_WAIT_S = 0.05
MAX_WAIT_S = 1.0


class Embedder:
    """Prepares inputs, all but the shortest off the event loop, and waits for their vectors.

    Text and media have threads of their own: a text never waits after an image's base64 or decode. In each, requests
    take turns, so that none waits for all inputs of a large one.

    Attributes:
        queue: of its model.
        texts: where texts are prepared, and other work on them is done.
    """

    def __init__(
        self,
        reader: InputReader,
        engine: PromptEngine,
        queue: Budget,
        forwards: ForwardRate,
        shared: Resources,
        settings: Settings,
    ) -> None:
        self._reader = reader
        self._engine = engine
        self.queue = queue
        self._forwards = forwards
        self._no_media = MediaReader(reader.rules, SERVICE.tenant)  # of jobs that have none
        self._answers = shared.answers
        self._timeout_s = settings.request_timeout_s
        self._part_size = PartSize.of_forward(settings.max_batch_requests, settings.max_batch_tokens)
        num_threads = shared.cores
        self.texts = FairThreads(num_threads, "text", small=SMALL_CHARS)
        self._headers = FairThreads(num_threads, "header", small=SMALL_MEDIA_CHARS)
        self._comparisons = FairThreads(max(1, num_threads // 2), "compare", small=SMALL_CHARS, num_spare=0)

    async def embed(self, job: Job, caller: Caller) -> EmbedResult:
        """One vector for each input of the job; all, or an error that names the input.

        A `per_item` job raises only for what concerns all of its inputs.

        Raises:
            ServiceError: an input is at fault, the queue is full, the engine has gone, or time is up.
        """
        self._engine.check_open()
        answer = self._answers.take_answer(job.answer_bytes, caller.tenant)
        try:
            with self.lease(len(job.inputs), caller) as lease:
                parts: Sequence[range] = ()
                if len(job.inputs) > self._part_size.num_inputs:
                    parts = parts_of(job, self._part_size, self._reader.model.builder.plain_texts)
                if parts and self._forwards.plain_s(most_tokens(job)) <= caller.deadline_s - time.monotonic():
                    result, media = await self._run_parts(job, parts, lease, caller), self._no_media
                else:  # also where it may be late: all of its prompts say that exactly, before any runs
                    began_s = time.perf_counter()
                    prompts, num_bytes, media = await self._prepare(job, lease, job.asks)
                    if num_bytes:
                        answer.close()
                        answer = self._answers.take_answer(job.answer_bytes + num_bytes, caller.tenant)
                    prepare_ms = (time.perf_counter() - began_s) * 1e3
                    result = await self._engine.run(dict(enumerate(prompts)), job.asks, caller, per_item=job.per_item)
                    if job.asks[0].joins_inputs:
                        result = by_chunk(result)
                    result.media_ms += prepare_ms
                    if any(ask.is_measured for ask in job.asks):
                        answer.close()
                        answer = self._measured(job, result, caller)
        except ServiceError as error:
            job.name_input(error)
            raise
        result.lease = answer
        for failed in result.errors:
            job.name_input(failed)
        if media.claims:
            media.bind({i for i, one in enumerate(result.inputs) if isinstance(one, EmbeddedInput)})
        return result

    def _measured(self, job: Job, result: EmbedResult, caller: Caller) -> Lease:
        """The lease of an answer whose size is known now that it is there."""
        num_bytes = sum(len(row) for one in result.embedded for row in one.vector.rows.values())
        for ask in job.asks:
            ask.check_measured(num_bytes, job.param, self._reader.max_answer_bytes)
        return self._answers.take_answer(num_bytes, caller.tenant, is_checked=False)

    async def _run_parts(self, job: Job, parts: Sequence[range], lease: Lease, caller: Caller) -> EmbedResult:
        """Run the parts of a job two at a time: while the engine has one, the prompts of the next are made.

        The queue counts the tokens of those that are made, and has to have room for the first: none is refused when
        some of the job has run.
        """
        size, room, making = sum(num_chars(one.source) for one in job.inputs), asyncio.Semaphore(2), asyncio.Lock()

        async def run(part: range) -> EmbedResult:
            async with room:
                async with making:
                    began_s = time.perf_counter()
                    prompts = await self.texts.run_steps(self._reader.prompts(job, self._no_media, part), size)
                    num_tokens = sum(len(one.plan.ids) for one in prompts if isinstance(one, Prompt))
                    lease.grow(Load(num_tokens=num_tokens), is_checked=part is parts[0])
                    prepare_ms = (time.perf_counter() - began_s) * 1e3
                prepared = dict(zip(part, prompts, strict=True))
                result = await self._engine.run(prepared, job.asks, caller, per_item=job.per_item)
                result.media_ms += prepare_ms
                return result

        runs = [asyncio.create_task(run(part), context=unnoted()) for part in parts]
        try:
            with stage("engine"):
                return EmbedResult.joined(await asyncio.gather(*runs))
        finally:
            for one in runs:
                one.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
            runs.clear()  # an error's frames hold the runs, and these the error: all that it held would stay

    async def embed_in_time(self, job: Job, caller: Caller) -> EmbedResult:
        """Embed a job, trying again within the caller's time while the service cannot take it.

        Lines of a stream outlast a full queue and an engine that is being replaced; a single request is refused.

        Raises:
            ServiceError: as `embed` does; a passing refusal only when the time is over.
        """
        wait_s = FIRST_WAIT_S
        while True:
            try:
                return await self.embed(job, caller)
            except UnavailableError as error:
                if error.code not in PASSING or time.monotonic() + wait_s >= caller.deadline_s:
                    raise
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_WAIT_S)

    async def embed_prompts(self, prompts: Sequence[Prompt | ServiceError], asks: Asks, caller: Caller) -> EmbedResult:
        """Embed prompts that another front has made; errors stand in their inputs' places.

        Raises:
            ServiceError: the queue is full, the engine has gone, or time is up.
        """
        self._engine.check_open()
        with self.lease(len(prompts), caller) as lease:
            lease.grow(Load(num_tokens=sum(len(one.plan.ids) for one in prompts if isinstance(one, Prompt))))
            return await self._engine.run(dict(enumerate(prompts)), asks, caller, per_item=True)

    async def prepare(self, job: Job, caller: Caller) -> Sequence[Prompt | ServiceError]:
        """The prompts of a job, and nothing of the engine. Errors stand in their inputs' places if it is `per_item`.

        Raises:
            ServiceError: an input is at fault, the queue is full, or time is up.
        """
        with self.lease(len(job.inputs), caller) as lease:
            prompts, *_ = await self._prepare(job, lease, ())
            return prompts

    async def compare(self, steps: Steps[T], num_chars: int, caller: Caller) -> T:
        """Compare vectors that are there, in half of the cores at most, and less while inputs are being embedded.

        The engine has a thread on each core: all of its threads wait for the one whose core a comparison has.

        Args:
            num_chars: how much text is tokenized in the time that it takes.

        Raises:
            DeadlineError: time is up.
        """
        with self.lease(0, caller):
            return await self._comparisons.run_steps(steps, num_chars, others_work=self.queue.has_inputs)

    def lease(self, num_inputs: int, caller: Caller) -> TimedLease:
        """A part of the queue for the length of a `with`, and until the caller's deadline at most."""
        lease = TimedLease(self.queue, caller.tenant, caller, self._timeout_s)
        lease.grow(Load(num_inputs=num_inputs))
        return lease

    async def _prepare(
        self, job: Job, lease: Lease, asks: Asks
    ) -> tuple[Sequence[Prompt | ServiceError], int, MediaReader]:
        """A job's prompts, the bytes of what is asked that follow from them, and what has read its media.

        Tokens and bytes are counted in the lease.
        """
        read = [*job.queries, *job.inputs] if job.queries else job.inputs
        for one in read:
            if isinstance(one.source, str) and one.source[:1] in FIRST_CHARS:
                job = self._reader.with_media_strings(job)
                read = [*job.queries, *job.inputs]
                break
        every, places = range(len(job.inputs)), [place for one in read for place in one.media]
        media, has_fetched = self._no_media, False
        if places:
            media = MediaReader(self._reader.rules, job.tenant, job.background)
            if names := media.names_to_ask(places):
                await self._reader.rules.uuids.ask_others(job.tenant.uuid_scope, names)
            if fetches := self._reader.fetch_steps(media, places, per_item=job.per_item):
                has_fetched = True
                with stage("fetch"):
                    for fetch in fetches:
                        await fetch(lease)
        with stage("prepare"):
            steps = self._reader.prompts(job, media, every)
            if not places and is_short(read):
                prompts = all_at_once(steps)
            else:
                size = sys.maxsize if has_fetched else num_chars([one.source for one in read])
                prompts = await (self._headers if places else self.texts).run_steps(steps, size)
        num_tokens = sum(len(one.plan.ids) for one in prompts if isinstance(one, Prompt))
        most = self._reader.max_answer_bytes
        num_bytes = sum(ask.bytes_of(num_tokens, job.param, most) for ask in asks if ask.follows_tokens)
        lease.grow(Load(num_tokens=num_tokens, num_bytes=num_bytes))
        return prompts, num_bytes, media
