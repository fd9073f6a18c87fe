"""The front's view of the engine: requests in, one future each out. Knows the socket, not the process behind it."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from service import metrics
from service.errors import ModelError, UnavailableError
from service.front.loaded import LoadedMedia
from service.front.pixels import PixelLoader
from service.front.tenant import SERVICE, Caller
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import (
    Abandon,
    EngineMessage,
    Media,
    Pixels,
    Request,
    StepDone,
    Submit,
    Vector,
    Wanted,
    WantPixels,
)
from service.media.picture import Picture
from service.prompt.prompt import Prompt

logger = logging.getLogger("cenote.client")

RESTART_RETRY_S = 2
"""What `Retry-After` says while the engine restarts."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A request under way: who waits for it, and its pictures in case their pixels are asked for again."""

    future: asyncio.Future[Vector]
    items: dict[bytes, Picture]


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a submitter holds while it waits."""

    id: int
    future: asyncio.Future[Vector]


class EngineClient:
    """Submits prompts and settles their futures; honest when the engine has gone.

    An engine is attached when it is loaded and open when its known answer has matched: between the two only the
    question itself passes.
    """

    def __init__(self, arena: PixelArena, loader: PixelLoader, observe: Callable[[int, float], None]) -> None:
        self._arena = arena
        self._loader = loader
        self._observe = observe
        self._pending: dict[int, Pending] = {}
        self._lent: set[int] = set()  # starts of the slots that the engine may still read
        self._ids = count(1)
        self._channel: AsyncChannel[EngineMessage] | None = None
        self._is_open = False
        self._tasks: set[asyncio.Task[None]] = set()

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when the engine may be asked.

        Raises:
            UnavailableError: there is none, or it has not answered its known question yet.
        """
        if self._channel is None or not (self._is_open or is_probe):
            raise _restarting()

    def submit(
        self, prompts: Sequence[tuple[Prompt, Sequence[LoadedMedia]]], output: Wanted, caller: Caller = SERVICE
    ) -> list[Ticket]:
        """Send prompts to the engine in one message; each ticket's future gets its vector or its own error.

        The pixel slots are the client's from here on, also when it raises.

        Raises:
            UnavailableError: the engine has gone.
        """
        starts = [one.slot.start for _, loaded in prompts for one in loaded if one.slot]
        self._lent.update(starts)
        if self._channel is None:
            self._take_back(starts)
            raise _restarting()
        requests = [self._register(prompt, loaded, output, caller) for prompt, loaded in prompts]
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
        """An engine is loaded at the other end of `channel`."""
        self._channel = channel

    def open(self) -> None:
        """The engine's known answer has matched: everybody may ask."""
        self._is_open = True

    def detach(self) -> None:
        """The engine has gone: everyone who waits is told, and every slot that it may have read is given back."""
        self._channel = None
        self._is_open = False
        self._take_back(list(self._lent))
        for id_ in list(self._pending):
            _fail(self._pending.pop(id_).future, _restarting())

    def receive(self, message: EngineMessage) -> None:
        """Settle what the engine answered."""
        match message:
            case StepDone():
                self._settle(message)
            case WantPixels(keys=keys):
                self._resupply_all(keys)
            case _:
                raise RuntimeError(f"{type(message).__name__} from a running engine. This is a bug.")

    def _register(self, prompt: Prompt, loaded: Sequence[LoadedMedia], output: Wanted, caller: Caller) -> Request:
        id_ = next(self._ids)
        media = tuple(
            Media(
                key=one.key,
                grid_thw=place.grid_thw,
                offset=place.offset,
                num_tokens=place.length,
                dtype=place.item.dtype,
                slot=one.slot,
            )
            for place, one in zip(prompt.placeholders, loaded, strict=True)
        )
        self._pending[id_] = Pending(
            future=asyncio.get_running_loop().create_future(),
            items={one.key: place.item for place, one in zip(prompt.placeholders, loaded, strict=True)},
        )
        return Request(
            id=id_,
            token_ids=prompt.token_ids,
            media=media,
            output=output,
            tenant=caller.tenant.name,
            deadline_s=caller.deadline_s,
        )

    def _settle(self, step: StepDone) -> None:
        self._take_back(step.released)
        for vector in step.vectors:
            if (pending := self._pending.pop(vector.id, None)) is not None:  # None: abandoned meanwhile
                pending.future.set_result(vector)
        for failure in step.failures:
            if (pending := self._pending.pop(failure.id, None)) is not None:
                _fail(pending.future, ModelError(failure.code, failure.message))
        if step.num_tokens:
            self._observe(step.num_tokens, step.step_ms / 1e3)
        metrics.observe_step(step)

    def _take_back(self, starts: Sequence[int]) -> None:
        self._lent.difference_update(starts)
        for start in starts:
            self._arena.release(start)

    def _resupply_all(self, keys: Sequence[bytes]) -> None:
        items = {key: item for pending in self._pending.values() for key, item in pending.items.items()}
        for key in keys:
            if key in items:
                task = asyncio.create_task(self._resupply(key, items[key]))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _resupply(self, key: bytes, item: Picture) -> None:
        """Send a picture's pixels again; who waits for it is told when that is not possible."""
        channel = self._channel
        try:
            slot = await self._loader.decode(item)
        except Exception:
            logger.exception("a picture could not be decoded again")
            self._fail_all_with(key)
            return
        if channel is None or channel is not self._channel:
            self._arena.release(slot.start)
            return
        self._lent.add(slot.start)
        channel.send(Pixels(key=key, slot=slot))

    def _fail_all_with(self, key: bytes) -> None:
        ids = [id_ for id_, pending in self._pending.items() if key in pending.items]
        for id_ in ids:
            error = ModelError("internal_error", "a picture of this input could not be decoded again")
            _fail(self._pending.pop(id_).future, error)
        if ids and self._channel is not None:
            self._channel.send(Abandon(ids=ids))


def _fail(future: asyncio.Future[Vector], error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # read once: whoever waited may have gone, and asyncio would complain


def _restarting() -> UnavailableError:
    return UnavailableError(
        "engine_restarting", "the engine is restarting; send the request again", retry_after_s=RESTART_RETRY_S
    )
