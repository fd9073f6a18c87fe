"""A front's way to the engine that the main process keeps: prompts go straight to it, its life is heard of by the link.

This is the `EngineHost` of each of several fronts, as `LocalEngine` is where there is one.
"""

import asyncio
import logging
import math
import socket  # noqa: TID251  # a socket pair
from collections.abc import Awaitable, Callable
from itertools import count

import msgspec

from service.engine_series import EngineSeries
from service.errors import ModelError, ServiceError
from service.front.engine_client.client import EngineClient
from service.front.engine_client.engine_host import DRAINING, RESTARTING, EngineState, HostNeeds
from service.front.engine_client.listening import Listening
from service.front.engine_client.local_engine import LocalEngine, start_message
from service.front.engine_client.supervisor import EngineBrokenError
from service.front.engine_client.watchdog import Watchdog
from service.ipc.announcements import Announcements
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import EngineMessage, Ready
from service.processes.main_link import MainLink
from service.processes.messages import (
    EngineBroken,
    EngineNews,
    EngineStatus,
    GiveUp,
    Loaded,
    Outcome,
    Strikes,
    Struck,
    Verdict,
)

logger = logging.getLogger("cenote.front")

LOOK_S = 0.5
"""Interval at which announcements are read, so that the pipe has room."""


class LinkedEngine(LocalEngine):
    """Runs prompts on the engine of all fronts.

    Args:
        needs: what every host is made of; `cores` are this front's share.
        link: to the main process.
        arena_descriptor: of the shared memory, of which this front has a part.
        cores: of all, for the engine.
    """

    def __init__(self, needs: HostNeeds, link: MainLink, arena_descriptor: int, cores: int) -> None:
        settings, start = needs.settings, link.start
        arena = PixelArena(settings.pixel_arena_bytes, arena_descriptor, start.index)
        super().__init__(needs, arena, count(start.first_id, start.num_fronts))
        self._link = link
        message = msgspec.structs.replace(
            start_message(settings, needs.model, cores, needs.log_name), num_fronts=start.num_fronts
        )
        self._loaded = Loaded(model=needs.index, name=needs.model.name, start=message)

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> "LinkedKeeper":  # type: ignore[override]  # both are keepers
        """Return the follower of the engine's life."""
        needs = self._needs
        ask_s = needs.settings.known_answer_s
        return LinkedKeeper(self._link, self._client, known_answer, self._loaded, needs.series, ask_s)


class LinkedKeeper:
    """Attaches this front to each engine that the main process starts, and says whether its answers are right.

    Attributes:
        ready: the last engine's own facts.
    """

    def __init__(
        self,
        link: MainLink,
        client: EngineClient,
        known_answer: Callable[[], Awaitable[None]],
        loaded: Loaded,
        series: EngineSeries,
        known_answer_s: float,
    ) -> None:
        self.ready: Ready | None = None
        self._link = link
        self._model = model = loaded.model
        self._client = client
        self._known_answer = known_answer
        self._loaded = loaded
        self._series = series
        self._known_answer_s = known_answer_s
        self._status = EngineStatus(model=model, state="loading", detail="the model is loading", refusal=RESTARTING)
        self._engines: asyncio.Queue[tuple[int, socket.socket, int] | EngineBroken] = asyncio.Queue()

    @property
    def state(self) -> EngineState:
        """The state, as `/readyz` has it: this front's own, and else the engine's."""
        if self._client.is_open:
            return "ready"
        if self._status.state == "ready":
            return "restarting" if self.ready is not None else "loading"
        return self._status.state

    @property
    def detail(self) -> str | None:
        """One sentence on the state, or None."""
        return None if self._client.is_open else self._status.detail or "the engine is being asked a known question"

    async def run(self) -> None:
        """Follow engines until cancelled.

        Raises:
            EngineBrokenError: there can never be one.
        """
        self._link.listen(self._model, self)
        self._link.send(self._loaded)
        while True:
            came = await self._engines.get()
            if isinstance(came, EngineBroken):
                raise EngineBrokenError(came.reason)
            await self._one_engine(*came)

    def end(self) -> None:
        """Fail what waits; the main process ends the engine."""
        self._client.refusal = DRAINING
        self._client.give_up()

    def told(self, message: EngineNews) -> None:
        """Hear of the engine."""
        match message:
            case EngineStatus():
                self._status = message
                self._client.refusal = message.refusal
            case GiveUp(refusal=refusal):
                self._client.refusal = refusal
                self._client.give_up()
            case Strikes(digests=digests):
                self._client.struck_elsewhere(digests)
            case EngineBroken():
                self._engines.put_nowait(message)

    def came(self, number: int, sock: socket.socket, pipe: int) -> None:
        """Take this front's ends of the lines to an engine."""
        self._engines.put_nowait((number, sock, pipe))

    async def _one_engine(self, number: int, sock: socket.socket, pipe: int) -> None:
        announcements = Announcements(pipe)
        channel: AsyncChannel[EngineMessage] = await AsyncChannel.over(sock, EngineMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
        try:
            first = await channel.receive()  # said once what a front before this one had there is forgotten
            if isinstance(first, Ready):
                self.ready = first
                await self._serve(number, channel, announcements)
        finally:
            self._link.send(Struck(model=self._model, digests=self._client.detach()))
            channel.close()
            announcements.close()

    async def _serve(self, number: int, channel: AsyncChannel[EngineMessage], announcements: Announcements) -> None:
        self._client.attach(channel)
        listening = Listening(self._client, Watchdog(math.inf), announcements, self._series)  # main watches
        minders = [asyncio.create_task(self._look_forever(listening)), asyncio.create_task(self._ask_forever(number))]
        try:
            await channel.each(listening.take)
        finally:
            for minder in minders:
                minder.cancel()
            listening.look()  # what it had entered when it ended

    async def _look_forever(self, listening: Listening) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            listening.look()

    async def _ask_forever(self, number: int) -> None:
        """Run the health probe until it is wrong; the first success opens the engine to this front's requests."""
        while True:
            outcome, reason = await self._probe()
            self._link.send(Verdict(model=self._model, engine=number, outcome=outcome, reason=reason))
            if outcome == "wrong":
                self._client.close()
                return
            if outcome == "right" and not self._client.is_open:
                self._client.open()
            await asyncio.sleep(self._known_answer_s)

    async def _probe(self) -> tuple[Outcome, str]:
        try:
            await self._known_answer()
        except ModelError as error:
            return "wrong", str(error)
        except (ServiceError, TimeoutError) as error:
            return "late", type(error).__name__
        except Exception:
            logger.exception("the health probe could not run. This is a bug.")
            return "wrong", "the known question could not be asked"
        return "right", ""
