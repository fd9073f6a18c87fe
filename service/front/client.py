"""The front's view of the engine: requests in, one future each out. Knows the socket, not the process behind it."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count

import msgspec

from service import metrics
from service.errors import ModelError
from service.front.loaded import LoadedMedia
from service.front.pending import Pending, Ticket, request_of
from service.front.pixels import PixelLoader
from service.front.refusal import RESTARTING
from service.front.suspects import MAX_STRIKES, Suspects
from service.front.tenant import SERVICE, Caller
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import (
    Abandon,
    EngineMessage,
    Ping,
    Pixels,
    Pong,
    Request,
    StepDone,
    StepStarted,
    Submit,
    Wanted,
    WantPixels,
)
from service.media.picture import Picture
from service.prompt.prompt import Prompt

logger = logging.getLogger("cenote.client")

KILLS = "the engine ended each time it ran this input; it is not run again for a minute"


class EngineClient:
    """Submits prompts and settles their futures; honest when the engine has gone.

    An engine is attached when it is loaded and open when its known answer has matched: between the two only the
    question itself passes. When it goes, what it was running fails; what it had not come to waits for the next.

    Attributes:
        refusal: what everybody is told while there is no engine.
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
        self.refusal = RESTARTING
        self._announced: StepStarted | None = None  # the last step that the engine has entered, so far as was read
        self._after = 0  # the number of the last one that is over
        self._suspects = Suspects()
        self._tasks: set[asyncio.Task[None]] = set()

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when the engine may be asked.

        Raises:
            UnavailableError: there is none, or it has not answered its known question yet.
        """
        if self._channel is None or not (self._is_open or is_probe):
            raise self.refusal.error()

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
            raise self.refusal.error()
        requests = [self._register(prompt, loaded, output, caller) for prompt, loaded in prompts]
        tickets = [Ticket(request.id, self._pending[request.id].future) for request in requests]
        self._send_unsuspected(requests)
        return tickets

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
        self._announced, self._after = None, 0

    def open(self) -> None:
        """The engine's known answer has matched: everybody may ask, and those who were left over are sent first."""
        self._is_open = True
        again = [pending for pending in self._pending.values() if pending.place == "held"]
        for pending in again:
            pending.place = "sent_again"
        if again:
            logger.info("%d requests that the last engine had not come to are sent again", len(again))
            metrics.REQUESTS_SENT_AGAIN.inc(len(again))
            self._send_unsuspected([pending.request for pending in again])

    def close(self) -> None:
        """The engine gave a wrong answer or none: nobody may ask it any more."""
        self._is_open = False

    def ping(self) -> None:
        """Ask the engine for a sign of life."""
        if self._channel is not None:
            self._channel.send(Ping())

    def detach(self) -> None:
        """The engine has gone: who was running is told, who was not waits for the next, and every slot comes back."""
        running = self._running()
        self._suspects.strike([self._pending[id_].request for id_ in running], time.monotonic())
        for id_, pending in list(self._pending.items()):
            if pending.place == "sent" and id_ not in running:
                pending.hold()
            elif pending.place != "held":
                self._pending.pop(id_).fail(self.refusal.error())
        self._channel = None
        self._is_open = False
        self._take_back(list(self._lent))

    def give_up(self) -> None:
        """No engine will come soon: who still waits is told."""
        for id_ in list(self._pending):
            self._pending.pop(id_).fail(self.refusal.error())

    def _send_unsuspected(self, requests: Sequence[Request]) -> None:
        """Send requests, those alone that an engine has died of, and those not at all that three have died of."""
        assert self._channel is not None  # the caller has looked
        now_s = time.monotonic()
        well = []
        for request in requests:
            strikes = self._suspects.strikes(request, now_s)
            if strikes >= MAX_STRIKES:
                self._take_back([media.slot.start for media in request.media if media.slot])
                self._pending.pop(request.id).fail(ModelError("internal_error", KILLS))
            else:
                well.append(msgspec.structs.replace(request, alone=True) if strikes else request)
        if well:
            self._channel.send(Submit(requests=well))

    def receive(self, message: EngineMessage) -> None:
        """Settle what the engine answered."""
        match message:
            case StepDone():
                self._settle(message)
            case WantPixels(keys=keys):
                self._resupply_all(keys)
            case Pong():
                pass
            case _:
                raise RuntimeError(f"{type(message).__name__} from a running engine. This is a bug.")
        self._after = max(self._after, message.after)

    def announced(self, step: StepStarted) -> None:
        """Note which step the engine has entered, perhaps a while ago: who is running should it end."""
        self._announced = step

    def _running(self) -> list[int]:
        """Ids of the step that the engine is in, of those that somebody waits for."""
        step = self._announced
        if step is None or step.number <= self._after:
            return []
        return [id_ for id_ in step.ids if id_ in self._pending]

    def _register(self, prompt: Prompt, loaded: Sequence[LoadedMedia], output: Wanted, caller: Caller) -> Request:
        id_ = next(self._ids)
        request = request_of(id_, prompt, loaded, output, caller)
        self._pending[id_] = Pending(
            request=request,
            future=asyncio.get_running_loop().create_future(),
            items={one.key: place.item for place, one in zip(prompt.placeholders, loaded, strict=True)},
            place="sent" if self._is_open else "sent_again",  # the known question is each engine's own
        )
        return request

    def _settle(self, step: StepDone) -> None:
        self._take_back(step.released)
        for vector in step.vectors:
            if (pending := self._pending.pop(vector.id, None)) is not None:  # None: abandoned meanwhile
                self._suspects.clear(pending.request)
                pending.answer(vector)
        for failure in step.failures:
            if (pending := self._pending.pop(failure.id, None)) is not None:
                pending.fail(ModelError(failure.code, failure.message))
        if step.num_tokens:
            self._observe(step.num_tokens, step.step_ms / 1e3)
        asyncio.get_running_loop().call_soon(metrics.observe_step, step)  # who waits goes first

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
            self._pending.pop(id_).fail(error)
        if ids and self._channel is not None:
            self._channel.send(Abandon(ids=ids))
