"""One request's way through the service below HTTP: prompts, pixels, engine, vectors. Every route comes this way."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from service.errors import DeadlineError, MediaError, ModelError
from service.front.admission import Admission
from service.front.client import EngineClient, Ticket
from service.front.pixels import PixelLoader
from service.ipc.arena import PixelArena
from service.ipc.messages import OutputSpec, Vector
from service.prompt.prompt import Prompt

ARENA_SHARE = 4
"""Pictures of one group may take this fraction of the arena, so that several requests decode side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a route wants embedded.

    Attributes:
        prepare: makes the prompts; runs in a thread, and raises for what the client got wrong.
        output: dimensions and number formats.
        num_inputs: how many prompts that will be.
        has_media: which threads `prepare` runs in.
    """

    prepare: Callable[[], list[Prompt]]
    output: OutputSpec
    num_inputs: int
    has_media: bool = False


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a request's inputs became.

    Attributes:
        prompts: one per input, in order.
        vectors: one per input, in order.
        media_ms: preparing prompts and pixels, wall clock.
    """

    prompts: Sequence[Prompt]
    vectors: list[Vector]
    media_ms: float

    @property
    def num_hits(self) -> int:
        """Pictures whose features were there already."""
        return sum(vector.num_hits for vector in self.vectors)

    @property
    def num_misses(self) -> int:
        """Pictures that the vision tower had to encode for this request."""
        return sum(vector.num_misses for vector in self.vectors)

    @property
    def queue_ms(self) -> float:
        """The longest wait of an input between engine and batch."""
        return max(vector.queue_ms for vector in self.vectors)

    @property
    def inference_ms(self) -> float:
        """The longest language step of an input."""
        return max(vector.inference_ms for vector in self.vectors)


class Embedder:
    """Prepares inputs off the event loop and waits for their vectors.

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

    async def embed(self, job: Job) -> Embedded:
        """One vector for each prompt of the job; all, or an error that names the input.

        Raises:
            ServiceError: an input is at fault, the queue is full, the engine has gone, or time is up.
        """
        self._client.check_open()
        pool = self._header_pool if job.has_media else self._text_pool
        try:
            async with asyncio.timeout(self._timeout_s):
                with self._admission.place(job.num_inputs) as place:
                    began_s = time.perf_counter()
                    prompts = await asyncio.get_running_loop().run_in_executor(pool, job.prepare)
                    self._admission.add_tokens(place, sum(len(prompt.token_ids) for prompt in prompts))
                    return await self._embed_prompts(prompts, job.output, began_s)
        except TimeoutError:
            raise DeadlineError("deadline_exceeded", f"no answer within {self._timeout_s:g} s") from None

    async def probe(self, prompts: list[Prompt], output: OutputSpec) -> Embedded:
        """The same for the service's own question: no queue, no crowd, and before the engine is open to others.

        Raises:
            ServiceError: the engine has gone, or time is up.
        """
        self._client.check_open(is_probe=True)
        async with asyncio.timeout(self._timeout_s):
            return await self._embed_prompts(prompts, output, time.perf_counter())

    async def _embed_prompts(self, prompts: list[Prompt], output: OutputSpec, began_s: float) -> Embedded:
        self._check_pixels(prompts)
        tickets: list[Ticket] = []
        try:
            for group in self._groups(prompts):
                tickets += await self._submit_group(prompts[group], output)
            media_ms = (time.perf_counter() - began_s) * 1e3
            return Embedded(prompts, await _all_vectors([ticket.future for ticket in tickets]), media_ms)
        finally:
            self._client.abandon(tickets)  # whoever is answered is passed over

    async def _submit_group(self, prompts: Sequence[Prompt], output: OutputSpec) -> list[Ticket]:
        items = [place.item for prompt in prompts for place in prompt.placeholders]
        loaded = iter(await self._loader.load(items) if items else ())
        pairs = [(prompt, [next(loaded) for _ in prompt.placeholders]) for prompt in prompts]
        return self._client.submit(pairs, output)

    def _groups(self, prompts: Sequence[Prompt]) -> Iterator[slice]:
        start, num_bytes = 0, 0
        for index, prompt in enumerate(prompts):
            size = _pixel_bytes(prompt)
            if num_bytes and num_bytes + size > self._arena.num_bytes // ARENA_SHARE:
                yield slice(start, index)
                start, num_bytes = index, 0
            num_bytes += size
        yield slice(start, len(prompts))

    def _check_pixels(self, prompts: Sequence[Prompt]) -> None:
        for index, prompt in enumerate(prompts):
            if not self._arena.fits([place.item.num_pixel_bytes for place in prompt.placeholders]):
                raise MediaError(
                    "media_too_large",
                    f"the pictures of this input take {_pixel_bytes(prompt)} bytes decoded; all pictures of one input "
                    f"may take {self._arena.num_bytes}",
                    index=index,
                )


async def _all_vectors(futures: Sequence[asyncio.Future[Vector]]) -> list[Vector]:
    await asyncio.wait(futures, return_when=asyncio.FIRST_EXCEPTION)
    for index, future in enumerate(futures):
        if future.done() and (error := future.exception()) is not None:
            if isinstance(error, ModelError):
                error.index = index
            raise error
    return [future.result() for future in futures]


def _pixel_bytes(prompt: Prompt) -> int:
    return sum(place.item.num_pixel_bytes for place in prompt.placeholders)
