"""The engine client: submits requests, settles each of them. Knows the socket, not the process after it."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from service.engine_series import ClientSeries
from service.errors import ModelError
from service.fairness.fair_queue import CURRENT_PARTY
from service.front.admission.budget import DrainRate
from service.front.admission.forward_rate import ForwardRate
from service.front.engine_client.front_link import RESTARTING
from service.front.engine_client.in_time import KeptQuestions
from service.front.engine_client.pending import Pending, PendingState, request_of
from service.front.engine_client.pixel_loader import LoadedMedia, PixelLoader
from service.front.engine_client.suspects import MAX_FAILED_RUNS, Suspects
from service.front.tenant import SERVICE, Caller
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import (
    Abandon,
    AreKept,
    Broken,
    Bundle,
    EngineMessage,
    Pixels,
    Ready,
    Request,
    StepDone,
    StepStarted,
    Submit,
    WantPixels,
)
from service.ipc.prompt_digest import prompt_digest
from service.media.media_item import MediaItem
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.prompt.prompt import Prompt

logger = logging.getLogger("cenote.client")

MAX_UNSENT = 256
"""Prompts that wait for the end of a turn of the loop at most: more are a batch by themselves."""

NO_STEP = StepStarted(number=0, kind="forward", num_tokens=0, ids=[], began_s=0.0)

KILLS = "the engine ended each time it ran this input; it is not run again for a minute"


class EngineClient:
    """Submits prompts and settles them, across restarts of the engine.

    An engine is attached when it is loaded and opened when its health probe has passed: between the two only the probe
    is let through. When it ends, the requests that it was running fail; those not yet started wait for the next.

    Attributes:
        is_open: its health probe has passed.
        refusal: the error of every request while there is no engine.
        entered: the last step that the engine has entered, so far as was read: its requests are running.
    """

    def __init__(
        self,
        arena: PixelArena,
        loader: PixelLoader,
        rate: DrainRate,
        forwards: ForwardRate,
        series: ClientSeries,
        ids: Iterator[int],
    ) -> None:
        self._arena = arena
        self._loader = loader
        self._rate = rate
        self._forwards = forwards
        self._kept = KeptQuestions()
        self._series = series
        self._pending: dict[int, Pending] = {}
        self._lent: set[int] = set()  # starts of the slots that the engine may still read
        self._unsent: list[Request] = []  # submitted in this turn of the loop
        self._ids = ids
        self.channel: AsyncChannel[EngineMessage] | None = None
        self.is_open = False
        self.refusal = RESTARTING
        self.entered = NO_STEP
        self._after = 0  # the number of the last one that is over
        self._suspects = Suspects()
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(
        self, prompts: Sequence[tuple[Prompt, Sequence[LoadedMedia]]], asks: Asks, caller: Caller = SERVICE
    ) -> list[Pending]:
        """Send prompts to the engine; each gets its vector or its own error.

        What is submitted in one turn of the loop goes in one message, up to `MAX_UNSENT` of them: the engine sees
        together what came together, and neither side is woken for each. The pixel slots are the client's from here on,
        also when it raises.

        Raises:
            UnavailableError: the engine has gone.
        """
        starts = [one.slot.start for _, loaded in prompts for one in loaded if one.slot]
        self._lent.update(starts)
        if self.channel is None:
            self._take_back(starts)
            raise self.refusal.error()
        ids = [next(self._ids) for _ in prompts]
        num_tokens = sum(len(prompt.plan.ids) for prompt, _ in prompts)
        bundle = Bundle(CURRENT_PARTY.get().request, ids[0], num_tokens)
        state: PendingState = "sent" if self.is_open else "sent_again"  # the health probe is each engine's own
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._send_unsent)
        submitted = []
        for id_, (prompt, loaded) in zip(ids, prompts, strict=True):
            request = request_of(id_, prompt, loaded, asks, caller, bundle)
            items = {one.key: at.item for at, one in zip(prompt.placeholders, loaded, strict=True)} if loaded else {}
            self._pending[id_] = pending = Pending(request, items, state)
            submitted.append(pending)
            self._unsent.append(request)
            if len(self._unsent) >= MAX_UNSENT:  # the engine begins with these while the others are made
                self._send_unsent()
        return submitted

    def _send_unsent(self) -> None:
        """Send what was submitted and has not been sent, if there is anything."""
        requests, self._unsent = self._unsent, []
        if not requests or self.channel is None:
            return
        if self._suspects.failed_runs:
            self._send_unsuspected(requests)
        else:
            self.channel.send(Submit(requests=requests))

    async def not_kept(self, prompts: Sequence[Prompt], asks: Asks, caller: Caller) -> Sequence[Request] | None:
        """Those of some prompts without media whose vectors the engine has not kept; see `KeptQuestions`."""
        requests = [request_of(next(self._ids), prompt, (), asks, caller) for prompt in prompts]
        return None if self.channel is None or not requests else await self._kept.ask(requests, self.channel.send)

    def abandon(self, submitted: Iterable[Pending]) -> None:
        """Cancel requests, in the engine too; answered ones are passed over.

        Their pixel slots come back from the engine, which alone knows whether it still reads them.
        """
        ids = [one.request.id for one in submitted if one.request.id in self._pending]
        for id_ in ids:
            del self._pending[id_]
        self._send_abandon(ids)

    def attach(self, channel: AsyncChannel[EngineMessage]) -> None:
        """An engine is loaded at the other end of `channel`."""
        self.channel = channel
        self.entered, self._after = NO_STEP, 0

    def open(self) -> None:
        """Open the engine to all requests after its health probe; those held from the last engine are sent first."""
        self.is_open = True
        again = [pending for pending in self._pending.values() if pending.state == "held"]
        for pending in again:
            pending.state = "sent_again"
        if again:
            logger.info("resubmitting %d requests not started by the previous engine", len(again))
            self._series.sent_again.inc(len(again))
            self._send_unsuspected([pending.request for pending in again])

    def detach(self) -> list[bytes]:
        """Note the engine's end: requests that it was running fail, the others are held, every slot comes back.

        Returns:
            Digests of the contents that it was running.
        """
        ids = self.entered.ids if self.entered.number > self._after else []
        running = [id_ for id_ in ids if id_ in self._pending]
        digests = list({prompt_digest(self._pending[id_].request) for id_ in running})
        self._suspects.add(digests, time.monotonic())
        for id_, pending in list(self._pending.items()):
            if pending.state == "sent" and id_ not in running:  # the next engine asks for the pixels that it needs
                media = tuple(msgspec.structs.replace(one, slot=None) for one in pending.request.media)
                pending.request = msgspec.structs.replace(pending.request, media=media)
                pending.state = "held"
            elif pending.state != "held":
                self._pending.pop(id_).settle(self.refusal.error())
        self.channel = None
        self.is_open = False
        self._unsent.clear()  # held with the others
        self._take_back(list(self._lent))
        return digests

    def add_suspects(self, digests: Sequence[bytes]) -> None:
        """Note what other fronts had in the engine that ended."""
        self._suspects.add(digests, time.monotonic())

    def give_up(self) -> None:
        """Fail all requests: no engine will come soon."""
        for id_ in list(self._pending):
            self._pending.pop(id_).settle(self.refusal.error())

    def _send_unsuspected(self, requests: Sequence[Request]) -> None:
        """Send requests: suspects alone, and those that have ended three engines not at all."""
        assert self.channel is not None  # the caller has looked
        failed_runs = self._suspects.num_failed_runs(requests, time.monotonic())
        allowed = []
        for request in requests:
            num_failed_runs = failed_runs.get(request.id, 0)
            if num_failed_runs >= MAX_FAILED_RUNS:
                self._take_back([media.slot.start for media in request.media if media.slot])
                if (pending := self._pending.pop(request.id, None)) is not None:  # None: abandoned before it was sent
                    pending.settle(ModelError("internal_error", KILLS))
            else:
                allowed.append(msgspec.structs.replace(request, alone=True) if num_failed_runs else request)
        if allowed:
            self.channel.send(Submit(requests=allowed))

    def receive(self, message: EngineMessage) -> None:
        """Handle a message of the engine."""
        match message:
            case StepDone():
                if message.released:
                    self._take_back(message.released)
                answered = list[tuple[Vector, list[int]]]()
                for vector in chain.from_iterable(block.vectors() for block in message.blocks):
                    if (pending := self._pending.pop(vector.id, None)) is not None:  # None: abandoned meanwhile
                        if self._suspects.failed_runs:
                            self._suspects.clear(pending.request)
                        answered.append((vector, pending.request.plan.ids))
                        pending.settle(vector)
                for failure in message.failures:
                    if (pending := self._pending.pop(failure.id, None)) is not None:
                        pending.settle(ModelError(failure.code, failure.message))
                if answered:
                    self._rate.finished(sum(len(ids) for _, ids in answered))
                    num_batched = answered[0][0].num_batched  # 0 where no forward ran
                    ran = [ids for vector, ids in answered if not vector.is_cached]
                    if num_batched * sum(map(len, ran)) >= len(answered) * self._forwards.full_tokens:
                        self._forwards.ran(ran, len(answered) / num_batched, answered[0][0].inference_ms / 1e3)
            case AreKept():
                self._kept.answered(message)
            case WantPixels(keys=keys):
                self._resupply_all(keys)
            case Ready() | Broken():
                raise RuntimeError(f"{type(message).__name__} from a running engine. This is a bug.")
        self._after = max(self._after, message.after)

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

    async def _resupply(self, key: bytes, item: MediaItem) -> None:
        """Send an image's pixels again, or fail the requests that wait for it."""
        channel = self.channel
        try:
            slot = await self._loader.decode(item)
        except Exception:
            logger.exception("an image could not be decoded again")
            ids = [id_ for id_, pending in self._pending.items() if key in pending.items]
            for id_ in ids:
                error = ModelError("internal_error", "an image of this input could not be decoded again")
                self._pending.pop(id_).settle(error)
            self._send_abandon(ids)
            return
        if channel is None or channel is not self.channel:
            self._arena.release(slot.start)
            return
        self._lent.add(slot.start)
        channel.send(Pixels(key=key, slot=slot))

    def _send_abandon(self, ids: list[int]) -> None:
        if ids and self.channel is not None:
            self._send_unsent()  # the engine has to know them first
            self.channel.send(Abandon(ids=ids))
