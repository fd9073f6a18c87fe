"""The engine process beside this front, as a host of engines: pixels into shared memory, prompts over the socket."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from service import metrics
from service.decode.start import start_decoder
from service.errors import MediaError, ModelError, ServiceError
from service.front.client import EngineClient
from service.front.engine_host import HostNeeds
from service.front.from_settings import patience, start_message
from service.front.job import Answered, Embedded, Outcome, raise_first
from service.front.pending import Ticket
from service.front.pixels import PixelLoader
from service.front.supervisor import Supervisor
from service.front.tenant import Caller
from service.ipc.arena import PixelArena
from service.ipc.messages import Vector, Wanted
from service.media.picture import Picture
from service.prompt.prompt import Prompt
from service.stages import stage

ARENA_SHARE = 4
"""Pictures of one group may take this fraction of the arena, so that several requests decode side by side."""


class LocalEngine:
    """An `EngineHost` with one engine, which the supervisor starts and replaces."""

    def __init__(self, needs: HostNeeds) -> None:
        """Make the arena and the threads that decode; the engine is started by the keeper."""
        settings, self._needs = needs.settings, needs
        self._arena = arena = PixelArena(settings.pixel_arena_bytes)
        decoder = start_decoder(settings, needs.cores, sees="image" in needs.model.profile.modalities)
        rooms = [one.room for one in (decoder, needs.clips, needs.sounds) if one is not None]
        metrics.ARENA_BYTES.set_function(lambda: arena.num_bytes_taken)
        metrics.DECODE_BYTES.set_function(lambda: sum(room.num_bytes_taken for room in rooms))
        self._loader = PixelLoader(
            arena, needs.model.fingerprint, decoder, needs.clips, needs.sounds, num_threads=needs.cores
        )
        self._client = EngineClient(arena, self._loader, needs.observe)

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> Supervisor:
        """What starts the engine and replaces it."""
        settings = self._needs.settings
        return Supervisor(
            start=start_message(settings, self._needs.model, self._needs.cores),
            arena=self._arena,
            client=self._client,
            known_answer=known_answer,
            patience=patience(settings),
        )

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when the engine may be asked; see `EngineClient.check_open`."""
        self._client.check_open(is_probe=is_probe)

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], output: Wanted, caller: Caller, *, per_item: bool
    ) -> Embedded:
        """Every prompt's outcome; see `PromptEngine.run`."""
        began_s = time.perf_counter()
        ends = {index: self._check_pixels(one, index) for index, one in prepared.items()}
        raise_first(() if per_item else ends.values())
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
        return Embedded([_outcome(end, vectors.get(index)) for index, end in ends.items()], media_ms)

    async def _submit_group(
        self,
        group: Sequence[int],
        ends: dict[int, Prompt | ServiceError],
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
            raise_first(() if per_item else ends.values())
            well = [index for index, prompt in prompts.items() if ends[index] is prompt]
            pairs = [(prompts[index], [loaded.take(item) for item in _pictures(prompts[index])]) for index in well]
        finally:
            loaded.release()
        return dict(zip(well, self._client.submit(pairs, output, caller), strict=True)) if pairs else {}

    def _groups(self, ends: Mapping[int, Prompt | ServiceError]) -> Iterator[list[int]]:
        group: list[int] = []
        num_bytes = 0
        for index, end in ends.items():
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
    await _ended([ticket.future for ticket in tickets.values()], per_item=per_item)
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


async def _ended(futures: Sequence[asyncio.Future[Vector]], *, per_item: bool) -> None:
    """Wait for all, or without `per_item` until one fails. One alone is heard of a turn of the loop earlier."""
    if len(futures) == 1:
        with suppress(ServiceError):
            await futures[0]
        return
    await asyncio.wait(futures, return_when=asyncio.ALL_COMPLETED if per_item else asyncio.FIRST_EXCEPTION)


def _outcome(end: Prompt | ServiceError, settled: Vector | ModelError | None) -> Outcome:
    if isinstance(end, ServiceError):
        return end
    assert settled is not None  # every prompt was submitted, and `_settled` waited for it
    return settled if isinstance(settled, ServiceError) else Answered(end, settled)


def _pictures(prompt: Prompt) -> list[Picture]:
    return [place.item for place in prompt.placeholders]


def _pixel_bytes(prompt: Prompt) -> int:
    return sum(item.num_slot_bytes for item in _pictures(prompt))
