"""Follows one model's engines for one front: attaches its client to each, and says whether its answers are right."""

import asyncio
import logging
import socket  # noqa: TID251  # a socket pair
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from service.errors import ModelError, ServiceError
from service.front.engine_client.client import EngineClient
from service.front.engine_client.front_link import (
    DRAINING,
    RESTARTING,
    EngineBroken,
    EngineBrokenError,
    EngineNews,
    EngineState,
    EngineStatus,
    FrontLink,
    GiveUp,
    Loaded,
    Outcome,
    ProbeResult,
    SuspectNews,
    SuspectReport,
)
from service.ipc.announcements import Announcements
from service.ipc.channel import AsyncChannel
from service.ipc.messages import EngineMessage, Ready, StepStarted

logger = logging.getLogger("cenote.front")

LOOK_S = 0.5
"""Interval at which announcements are read, so that the pipe has room."""


class EngineFollower:
    """A `Keeper` whose engine another keeps: `service/front/hub/engine_keeper.py`.

    Args:
        link: to that.
        client: attached when an engine is ready, detached when it has gone.
        known_answer: the health probe, through the whole path; raises when the answer is not the first engine's.
        loaded: says that the model's files have been read, and what its engine is started with.
        known_answer_s: how often the health probe runs.
    """

    def __init__(
        self,
        link: FrontLink,
        client: EngineClient,
        known_answer: Callable[[], Awaitable[None]],
        loaded: Loaded,
        known_answer_s: float,
    ) -> None:
        self.ready: Ready | None = None
        self._link = link
        self._model = model = loaded.model
        self._client = client
        self._known_answer = known_answer
        self._loaded = loaded
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
        if self._client.is_open:
            return None
        is_asked = self._client.channel is not None
        return self._status.detail or (
            "the engine is asked a known question" if is_asked else "the engine is restarting"
        )

    async def run(self) -> None:
        """Follow engines until cancelled. EngineBrokenError: there can never be one."""
        self._link.follow(self._model, self)
        self._link.report(self._loaded)
        while True:
            came = await self._engines.get()
            if isinstance(came, EngineBroken):
                raise EngineBrokenError(came.reason)
            await self._one_engine(*came)

    def end(self) -> None:
        """Fail what waits; the keeper ends the engine."""
        self._client.refusal = DRAINING
        self._client.is_open = False
        self._client.give_up()

    def on_news(self, message: EngineNews) -> None:
        """Hear of the engine."""
        match message:
            case EngineStatus():
                self._status = message
                if self._client.refusal != DRAINING:
                    self._client.refusal = message.refusal
            case GiveUp():
                self._client.give_up()
            case SuspectNews(digests=digests):
                self._client.add_suspects(digests)
            case EngineBroken():
                self._engines.put_nowait(message)

    def on_engine(self, number: int, sock: socket.socket, pipe: int) -> None:
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
            self._link.report(SuspectReport(model=self._model, digests=self._client.detach()))
            channel.close()
            announcements.close()

    async def _serve(self, number: int, channel: AsyncChannel[EngineMessage], announcements: Announcements) -> None:
        self._client.attach(channel)
        looking, asking = self._look_forever(announcements), self._ask_forever(number)
        minders = [asyncio.create_task(looking), asyncio.create_task(asking)]
        try:
            await channel.each(self._client.receive)
        finally:
            for minder in minders:
                minder.cancel()
            self._look(announcements)  # what it had entered when it ended

    async def _look_forever(self, announcements: Announcements) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._look(announcements)

    def _look(self, announcements: Announcements) -> None:
        with suppress(msgspec.MsgspecError, RuntimeError):  # the keeper cannot read its own either, and says so
            for step in announcements.read():
                if isinstance(step, StepStarted):
                    self._client.entered = step

    async def _ask_forever(self, number: int) -> None:
        """Run the health probe until it is wrong; the first success opens the engine to this front's requests."""
        while True:
            outcome, reason = await self._probe()
            if outcome == "wrong":
                self._client.is_open = False
            elif outcome == "right" and not self._client.is_open:
                self._client.open()
            self._link.report(ProbeResult(model=self._model, engine=number, outcome=outcome, reason=reason))
            if outcome == "wrong":
                return
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
            return "wrong", "the health probe could not run"
        return "right", ""
