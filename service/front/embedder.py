"""One request's way through the service below HTTP: prompts, pixels, engine, vectors. Every route comes this way."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from service.errors import DeadlineError, MediaError, ModelError, ServiceError
from service.front.admission import Admission, Place
from service.front.client import EngineClient
from service.front.job import Answered, Embedded, Job, Outcome
from service.front.pending import Ticket
from service.front.pixels import PixelLoader
from service.front.tenant import SERVICE, Caller
from service.ipc.arena import PixelArena
from service.ipc.messages import OutputSpec, Vector, Wanted
from service.media.picture import Picture
from service.prompt.prompt import Prompt
from service.stages import stage

ARENA_SHARE = 4
"""Pictures of one group may take this fraction of the arena, so that several requests decode side by side."""


class Embedder:
    """Prepares inputs, all but the shortest off the event loop, and waits for their vectors.

    Text and media have threads of their own: a text never waits behind a picture's base64 or decode.
    """

    def __init__(
        self,
        client: EngineClient,
        loader: PixelLoader,
        arena: PixelArena,
        admission: Admission,
        *,
        num_threads: int,
        timeout_s: float,
    ) -> None:
        self._client = client
        self._loader = loader
        self._arena = arena
        self._admission = admission
        self._timeout_s = timeout_s
        self._text_pool = ThreadPoolExecutor(num_threads, thread_name_prefix="text")
        self._header_pool = ThreadPoolExecutor(num_threads, thread_name_prefix="header")

    async def embed(self, job: Job, caller: Caller) -> Embedded:
        """One vector for each prompt of the job; all, or an error that names the input.

        A `per_item` job raises only for what concerns all of its inputs.

        Args:
            job: what is wanted.
            caller: who wants it, and until when.

        Raises:
            ServiceError: an input is at fault, the queue is full, the engine has gone, or time is up.
        """
        self._client.check_open()
        try:
            async with asyncio.timeout(self._left_s(caller)):
                with self._admission.place(job.num_inputs, caller.tenant) as place:
                    began_s = time.perf_counter()
                    prepared = await self._prepared(job, place)
                    prompts = [one for one in prepared if isinstance(one, Prompt)]
                    num_tokens = sum(len(prompt.token_ids) for prompt in prompts)
                    self._admission.add_tokens(place, num_tokens, num_tokens * job.answer_token_bytes)
                    embedded = await self._embed_prepared(prepared, job.output, began_s, caller, per_item=job.per_item)
        except TimeoutError:
            raise self._too_late(caller) from None
        if job.settle is not None:
            job.settle(embedded)
        return embedded

    async def prepare(self, job: Job, caller: Caller) -> list[Prompt]:
        """The prompts of a job that is not `per_item`, and nothing of the engine.

        Raises:
            ServiceError: an input is at fault, the queue is full, or time is up.
        """
        try:
            async with asyncio.timeout(self._left_s(caller)):
                with self._admission.place(job.num_inputs, caller.tenant) as place:
                    prepared = await self._prepared(job, place)
                    prompts = [one for one in prepared if isinstance(one, Prompt)]
                    self._admission.add_tokens(place, sum(len(prompt.token_ids) for prompt in prompts))
                    return prompts
        except TimeoutError:
            raise self._too_late(caller) from None

    async def probe(self, prompts: list[Prompt], output: OutputSpec) -> Embedded:
        """The same for the service's own question: no queue, no crowd, and before the engine is open to others.

        Raises:
            ServiceError: the engine has gone, or time is up.
        """
        self._client.check_open(is_probe=True)
        async with asyncio.timeout(self._timeout_s):
            return await self._embed_prepared(prompts, output, time.perf_counter(), SERVICE, per_item=False)

    def _left_s(self, caller: Caller) -> float:
        """Seconds until the deadline; the service's own limit holds for everybody."""
        return min(self._timeout_s, caller.deadline_s - time.monotonic())

    def _too_late(self, caller: Caller) -> DeadlineError:
        return DeadlineError("deadline_exceeded", f"no answer within {min(self._timeout_s, caller.patience_s):g} s")

    async def _prepared(self, job: Job, place: Place) -> Sequence[Prompt | ServiceError]:
        if job.fetch is not None:
            with stage("fetch"):
                await job.fetch(partial(self._admission.add_bytes, place))
        pool = self._header_pool if job.has_media else self._text_pool
        with stage("prepare"):
            if job.is_short:
                return job.prepare()
            return await asyncio.get_running_loop().run_in_executor(pool, job.prepare)

    async def _embed_prepared(
        self,
        prepared: Sequence[Prompt | ServiceError],
        output: Wanted,
        began_s: float,
        caller: Caller,
        *,
        per_item: bool,
    ) -> Embedded:
        ends = [self._check_pixels(one, index) for index, one in enumerate(prepared)]
        _raise_first(() if per_item else ends)
        tickets: dict[int, Ticket] = {}
        try:
            with stage("media"):
                for group in self._groups(ends):
                    tickets |= await self._submit_group(group, ends, output, caller, per_item=per_item)
            media_ms = (time.perf_counter() - began_s) * 1e3
            with stage("engine"):
                vectors = await _settled(tickets, per_item=per_item)
        finally:
            self._client.abandon(tickets.values())  # whoever is answered is passed over
        return Embedded([_outcome(end, vectors.get(index)) for index, end in enumerate(ends)], media_ms)

    async def _submit_group(
        self,
        group: Sequence[int],
        ends: list[Prompt | ServiceError],
        output: Wanted,
        caller: Caller,
        *,
        per_item: bool,
    ) -> dict[int, Ticket]:
        """Load the pictures of some prompts and send those whose pictures are well; errors take the others' place."""
        prompts = {index: end for index in group if isinstance(end := ends[index], Prompt)}
        items = [item for prompt in prompts.values() for item in _pictures(prompt)]
        loaded = await self._loader.load(items)
        try:
            for index, prompt in prompts.items():
                ends[index] = loaded.error_of(_pictures(prompt)) or prompt
            _raise_first(() if per_item else ends)
            well = [index for index, prompt in prompts.items() if ends[index] is prompt]
            pairs = [(prompts[index], [loaded.take(item) for item in _pictures(prompts[index])]) for index in well]
        finally:
            loaded.release()
        return dict(zip(well, self._client.submit(pairs, output, caller), strict=True)) if pairs else {}

    def _groups(self, ends: Sequence[Prompt | ServiceError]) -> Iterator[list[int]]:
        group: list[int] = []
        num_bytes = 0
        for index, end in enumerate(ends):
            size = _pixel_bytes(end) if isinstance(end, Prompt) else 0
            if num_bytes and num_bytes + size > self._arena.num_bytes // ARENA_SHARE:
                yield group
                group, num_bytes = [], 0
            group.append(index)
            num_bytes += size
        yield group

    def _check_pixels(self, end: Prompt | ServiceError, index: int) -> Prompt | ServiceError:
        """The prompt, or an error when its pictures can never be in shared memory together."""
        if isinstance(end, ServiceError) or self._arena.fits([item.num_slot_bytes for item in _pictures(end)]):
            return end
        return MediaError(
            "media_too_large",
            f"the pictures of this input take {_pixel_bytes(end)} bytes as pixels or features; one input may take "
            f"{self._arena.num_bytes}",
            index=index,
        )


async def _settled(tickets: Mapping[int, Ticket], *, per_item: bool) -> dict[int, Vector | ModelError]:
    """Each input's vector, or with `per_item` the error that concerns it alone."""
    if not tickets:
        return {}
    until = asyncio.ALL_COMPLETED if per_item else asyncio.FIRST_EXCEPTION
    await asyncio.wait([ticket.future for ticket in tickets.values()], return_when=until)
    settled: dict[int, Vector | ModelError] = {}
    for index, ticket in tickets.items():
        error = ticket.future.exception() if ticket.future.done() else None
        if isinstance(error, ModelError):
            error.index = index
        if error is not None and not (per_item and isinstance(error, ModelError)):
            raise error
        if ticket.future.done():
            settled[index] = error if isinstance(error, ModelError) else ticket.future.result()
    return settled


def _raise_first(ends: Sequence[Prompt | ServiceError]) -> None:
    for end in ends:
        if isinstance(end, ServiceError):
            raise end


def _outcome(end: Prompt | ServiceError, settled: Vector | ModelError | None) -> Outcome:
    if isinstance(end, ServiceError):
        return end
    assert settled is not None  # every prompt was submitted, and `_settled` waited for it
    return settled if isinstance(settled, ServiceError) else Answered(end, settled)


def _pictures(prompt: Prompt) -> list[Picture]:
    return [place.item for place in prompt.placeholders]


def _pixel_bytes(prompt: Prompt) -> int:
    return sum(item.num_slot_bytes for item in _pictures(prompt))
