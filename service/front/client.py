"""The front's view of the engine: requests in, one future each out. Knows the socket, not the process behind it."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from service import metrics
from service.errors import ModelError, UnavailableError
from service.front.pixels import LoadedMedia, PixelLoader
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import (
    Abandon,
    EngineMessage,
    Failure,
    Media,
    OutputSpec,
    Pixels,
    Request,
    StepDone,
    Submit,
    Vector,
    WantPixels,
)
from service.media.item import MediaItem
from service.prompt.prompt import Prompt

logger = logging.getLogger("cenote.client")

RESTART_RETRY_S = 2
"""What `Retry-After` says while the engine restarts."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A request under way: who waits for it, and its pictures in case their pixels are asked for again."""

    future: asyncio.Future[Vector]
    items: dict[bytes, MediaItem]
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a submitter holds while it waits."""

    id: int
    future: asyncio.Future[Vector]


class EngineClient:
    """Submits prompts and settles their futures; bounded, and honest when the engine has gone.

    Attributes:
        max_requests: requests under way at once; more are refused.
        max_tokens: tokens under way at once; more are refused.
    """

    def __init__(self, arena: PixelArena, loader: PixelLoader, *, max_requests: int, max_tokens: int) -> None:
        self.max_requests = max_requests
        self.max_tokens = max_tokens
        self._arena = arena
        self._loader = loader
        self._pending: dict[int, Pending] = {}
        self._num_requests = 0
        self._num_tokens = 0
        self._ids = count(1)
        self._channel: AsyncChannel[EngineMessage] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._tokens_per_s = 1000.0

    @contextmanager
    def admitted(self, num_requests: int, num_tokens: int) -> Iterator[None]:
        """A place in the queue from before the first decode until the last answer.

        Raises:
            UnavailableError: the queue is full, or there is no engine now.
        """
        if self._channel is None:
            raise _restarting()
        self._check_room(num_requests, num_tokens)
        self._num_requests += num_requests
        self._num_tokens += num_tokens
        metrics.QUEUE_DEPTH.set(self._num_requests)
        try:
            yield
        finally:
            self._num_requests -= num_requests
            self._num_tokens -= num_tokens
            metrics.QUEUE_DEPTH.set(self._num_requests)

    def submit(self, prompts: Sequence[tuple[Prompt, Sequence[LoadedMedia]]], output: OutputSpec) -> list[Ticket]:
        """Send prompts to the engine in one message; each ticket's future gets its vector or its own error.

        Raises:
            UnavailableError: there is no engine now; pixel slots are given back.
        """
        if self._channel is None:
            for _, loaded in prompts:
                self._release(media.slot.start for media in loaded if media.slot)
            raise _restarting()
        requests = [self._register(prompt, loaded, output) for prompt, loaded in prompts]
        self._channel.send(Submit(requests=requests))
        return [Ticket(request.id, self._pending[request.id].future) for request in requests]

    def abandon(self, tickets: Iterable[Ticket]) -> None:
        """Tell the engine that nobody waits for these any more; answered ones are passed over.

        Their pixel slots come back from the engine, which alone knows whether it still reads them.
        """
        ids = [ticket.id for ticket in tickets if ticket.id in self._pending]
        for id_ in ids:
            self._pending.pop(id_).future.cancel()
        if ids and self._channel is not None:
            self._channel.send(Abandon(ids=ids))

    def attach(self, channel: AsyncChannel[EngineMessage]) -> None:
        """An engine is ready at the other end of `channel`."""
        self._channel = channel

    def detach(self) -> None:
        """The engine has gone: everyone who waits is told, and its pixels are given back."""
        self._channel = None
        for id_ in list(self._pending):
            pending = self._pending.pop(id_)
            self._release(pending.starts)
            if not pending.future.done():
                pending.future.set_exception(_restarting())

    def receive(self, message: EngineMessage) -> None:
        """Settle what the engine answered."""
        match message:
            case StepDone():
                self._settle(message)
            case WantPixels(keys=keys):
                for key in keys:
                    self._spawn_resupply(key)
            case _:
                raise RuntimeError(f"{type(message).__name__} from a running engine. This is a bug.")

    def _check_room(self, num_requests: int, num_tokens: int) -> None:
        full = self._num_requests + num_requests > self.max_requests or self._num_tokens + num_tokens > self.max_tokens
        if full and self._num_requests:  # one request over the limit still runs when it is alone
            raise UnavailableError(
                "queue_full",
                f"the queue holds {self._num_requests} inputs and {self._num_tokens} tokens; its limits are "
                f"{self.max_requests} and {self.max_tokens}",
                retry_after_s=min(30, max(1, round(self._num_tokens / self._tokens_per_s))),
            )

    def _register(self, prompt: Prompt, loaded: Sequence[LoadedMedia], output: OutputSpec) -> Request:
        id_ = next(self._ids)
        media = tuple(
            Media(key=one.key, grid_thw=place.grid_thw, offset=place.offset, num_tokens=place.length, slot=one.slot)
            for place, one in zip(prompt.placeholders, loaded, strict=True)
        )
        self._pending[id_] = Pending(
            future=asyncio.get_running_loop().create_future(),
            items={one.key: place.item for place, one in zip(prompt.placeholders, loaded, strict=True)},
            starts=tuple(one.slot.start for one in loaded if one.slot),
        )
        return Request(id=id_, token_ids=prompt.token_ids, media=media, output=output)

    def _settle(self, step: StepDone) -> None:
        self._release(step.released)
        for vector in step.vectors:
            if (pending := self._take(vector.id)) is not None:
                pending.future.set_result(vector)
        for failure in step.failures:
            if (pending := self._take(failure.id)) is not None:
                pending.future.set_exception(_model_error(failure))
        if step.num_tokens:
            self._tokens_per_s += 0.2 * (step.num_tokens / (step.step_ms / 1e3) - self._tokens_per_s)
        metrics.observe_step(step)

    def _take(self, id_: int) -> Pending | None:
        pending = self._pending.pop(id_, None)  # None: abandoned while the engine was at it
        return None if pending is None or pending.future.done() else pending

    def _release(self, starts: Iterable[int]) -> None:
        for start in starts:
            self._arena.release(start)

    def _spawn_resupply(self, key: bytes) -> None:
        item = next((pending.items[key] for pending in self._pending.values() if key in pending.items), None)
        if item is not None:
            task = asyncio.create_task(self._resupply(key, item))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _resupply(self, key: bytes, item: MediaItem) -> None:
        began_s, channel = time.perf_counter(), self._channel
        loaded = await self._loader.decode(item)
        assert loaded.slot is not None  # `decode` always makes one
        if channel is None or channel is not self._channel:
            self._arena.release(loaded.slot.start)
        else:
            channel.send(Pixels(key=key, slot=loaded.slot))
            logger.debug("pixels sent again in %.1f ms", (time.perf_counter() - began_s) * 1e3)


def _restarting() -> UnavailableError:
    return UnavailableError(
        "engine_restarting", "the engine is restarting; send the request again", retry_after_s=RESTART_RETRY_S
    )


def _model_error(failure: Failure) -> ModelError:
    return ModelError(failure.code, failure.message)
