"""The engine process on this machine: prompts over the socket, their media's pixels through shared memory.

This is the `PromptEngine` that `serving.Serving` binds unless another `open_host` is given (`deploy/ray`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from itertools import count

import msgspec

from service.accounting import stage
from service.errors import DeadlineError, MediaError, ModelError, ServiceError
from service.front.engine_client.client import EngineClient
from service.front.engine_client.engine_follower import EngineFollower
from service.front.engine_client.engine_host import HostNeeds
from service.front.engine_client.front_link import Loaded
from service.front.engine_client.in_time import check_in_time, over_in_time
from service.front.engine_client.pending import Pending, all_settled
from service.front.engine_client.pixel_loader import PixelLoader
from service.front.job import EmbeddedInput, EmbedResult, InputResult, raise_first
from service.front.served_model import ServedModel
from service.front.tenant import Caller
from service.ipc.arena import PixelArena
from service.ipc.messages import Start
from service.media.media_item import MediaItem
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.prompt.prompt import Prompt
from service.settings.settings import Settings

ARENA_SHARE = 4
"""Media of one group may take this fraction of the arena, so that several requests decode side by side."""


class LocalEngine:
    """An `EngineHost` with one engine on this machine, which all fronts of the service share."""

    def __init__(self, needs: HostNeeds) -> None:
        """Make the threads that decode, and take this front's part of the arena."""
        settings, link, self._needs = needs.settings, needs.link, needs
        self._arena = arena = PixelArena(settings.pixel_arena_bytes, link.arena(needs.index), link.index)
        decoders = needs.decoders
        images = decoders.images(is_needed="image" in needs.model.profile.modalities)
        needs.series.arena_bytes.set_function(lambda: arena.num_bytes_taken)
        self._loader = PixelLoader(arena, needs.tower, images, decoders, num_threads=needs.cores)
        ids = count(link.first_id, link.num_fronts)
        self._client = EngineClient(arena, self._loader, needs.rate, needs.forwards, needs.series, ids)

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> EngineFollower:
        """Return the follower of the engine's life."""
        needs, settings = self._needs, self._needs.settings
        start = start_message(settings, needs.model, needs.engine_threads, needs.link.num_fronts)
        group = needs.group
        host, *guests = group.models
        if guests:
            start = msgspec.structs.replace(start, group=group.folder, place=group.models.index(needs.index))
        loaded = Loaded(model=needs.index, start=start, host=host)
        return EngineFollower(needs.link, self._client, known_answer, loaded, settings.known_answer_s)

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when the engine may be asked; see `PromptEngine.check_open`."""
        if self._client.channel is None or not (self._client.is_open or is_probe):
            raise self._client.refusal.error()

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], asks: Asks, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        """Every prompt's result; see `PromptEngine.run`."""
        began_s = time.perf_counter()
        ends = dict(prepared)
        prompts = {index: end for index, end in ends.items() if isinstance(end, Prompt)}
        if len(prompts) < len(ends) and not per_item:
            raise_first(ends.values())
        pending: dict[int, Pending] = {}
        is_large = sum(len(prompt.plan.ids) for prompt in prompts.values()) > self._needs.settings.max_batch_tokens
        try:
            if is_large:
                await self._check_in_time(prompts.values(), asks, caller)
            with stage("media"):
                if any(prompt.placeholders for prompt in prompts.values()):
                    await self._load_and_submit(ends, pending, asks, caller, per_item=per_item)
                elif prompts:
                    sent = self._client.submit([(prompt, ()) for prompt in prompts.values()], asks, caller)
                    pending |= zip(prompts, sent, strict=True)
            media_ms = (time.perf_counter() - began_s) * 1e3
            with stage("engine"):
                over = all_settled(pending.values(), per_item=per_item)
                forwards = self._needs.forwards
                await (over_in_time(over, forwards, pending.values(), caller) if is_large else over)
                return EmbedResult(results_of(ends, pending, per_item=per_item), media_ms)
        except BaseException:  # cancelled, for one
            self._client.abandon(pending.values())
            raise

    async def _check_in_time(self, prompts: Collection[Prompt], asks: Asks, caller: Caller) -> None:
        """Pass if prompts may be done by the caller's deadline; else DeadlineError.

        Those with media do not count, since their vectors may be kept, nor those that are looked up.
        """
        texts = [prompt for prompt in prompts if not prompt.placeholders and prompt.plan.needs_forward]
        forwards = self._needs.forwards
        try:
            await asyncio.to_thread(check_in_time, forwards, [one.plan.ids for one in texts], caller)
        except DeadlineError:
            left = await self._client.not_kept(texts, asks, caller)
            if left is not None:
                await asyncio.to_thread(check_in_time, forwards, [one.plan.ids for one in left], caller)

    async def _load_and_submit(
        self,
        ends: dict[int, Prompt | ServiceError],
        pending: dict[int, Pending],
        asks: Asks,
        caller: Caller,
        *,
        per_item: bool,
    ) -> None:
        """Load the prompts' media group by group, and send those whose media are well; errors replace the others."""
        prompts = {index: end for index, end in ends.items() if isinstance(end, Prompt)}
        media = {index: [place.item for place in prompt.placeholders] for index, prompt in prompts.items()}
        for index, items in media.items():
            sizes = [item.num_slot_bytes for item in items]
            if not self._arena.fits(sizes):
                message = (
                    f"the images of this input take {sum(sizes)} bytes as pixels or features; one input may take "
                    f"{self._arena.num_bytes}"
                )
                ends[index] = too_large = MediaError("media_too_large", message, index=index)
                if not per_item:
                    raise too_large
        for group in self._groups(media):
            prompts = {index: end for index in group if isinstance(end := ends[index], Prompt)}
            loaded = await self._loader.load([item for index in prompts for item in media[index]])
            try:
                if loaded.errors:
                    failed = {index: error for index in prompts if (error := loaded.error_of(media[index])) is not None}
                    raise_first(() if per_item else failed.values())
                    ends |= failed
                well = [index for index, prompt in prompts.items() if ends[index] is prompt]
                pairs = [(prompts[index], [loaded.take(item) for item in media[index]]) for index in well]
            finally:
                if loaded.slots:
                    loaded.release()
            if pairs:
                pending |= zip(well, self._client.submit(pairs, asks, caller), strict=True)

    def _groups(self, media: Mapping[int, Sequence[MediaItem]]) -> Iterator[list[int]]:
        """Inputs whose media are decoded together."""
        group: list[int] = []
        num_bytes = 0
        for index, items in media.items():
            size = sum(item.num_slot_bytes for item in items)
            if num_bytes and num_bytes + size > self._arena.num_bytes // ARENA_SHARE:
                yield group
                group, num_bytes = [], 0
            group.append(index)
            num_bytes += size
        yield group


def results_of(
    ends: Mapping[int, Prompt | ServiceError], pending: Mapping[int, Pending], *, per_item: bool
) -> list[InputResult]:
    """Every input's result, once `all_settled` is; raises the first error, unless `per_item`, or what concerns all."""
    results: list[InputResult] = []
    for index, end in ends.items():
        if isinstance(end, ServiceError):
            results.append(end)
            continue
        outcome = pending[index].outcome
        if isinstance(outcome, Vector):
            results.append(EmbeddedInput(end, outcome))
            continue
        if isinstance(outcome, ModelError):
            outcome.index = index
            if per_item:
                results.append(outcome)
                continue
        if outcome is not None:  # None: it was not waited for, since another has failed
            raise outcome
    return results


def start_message(settings: Settings, model: ServedModel, num_threads: int, num_fronts: int) -> Start:
    """Build the first message to every engine."""
    return Start(
        folder=str(model.checkpoint.folder),
        architecture=model.profile.architecture,
        device=settings.device,
        dtype=settings.dtype,
        weights=settings.weights,
        arena_bytes=settings.pixel_arena_bytes,
        encoder_cache_bytes=settings.encoder_cache_bytes,
        host_cache_bytes=settings.host_cache_bytes,
        disk_cache=settings.disk_cache or "",
        disk_cache_bytes=settings.disk_cache_bytes,
        valkey_url="" if settings.valkey_keeps == "vectors" else settings.valkey_url or "",
        max_tenant_share=settings.max_tenant_share,
        result_cache_bytes=settings.result_cache_bytes if model.own.is_kept else 0,
        prefix_cache_bytes=settings.prefix_cache_bytes,
        max_batch_tokens=settings.max_batch_tokens,
        max_batch_requests=settings.max_batch_requests,
        max_encoder_tokens=max(1, settings.max_batch_tokens // 4),
        num_threads=num_threads,
        num_fronts=num_fronts,
        pooling=model.profile.pooling,
        int8_ranges=dict(model.int8_ranges),
        log_format=settings.log_format,
        log_level=settings.log_level,
        model=model.name,
    )
