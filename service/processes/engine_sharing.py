"""One model's engine for all fronts: connects each with every new engine, and hears what their health probes say of it.

To the `Supervisor` this is the engine's user, as `EngineClient` is where there is one front. It asks nothing itself.
"""

import asyncio
import os
import socket  # noqa: TID251  # socket pairs
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import msgspec

from service.errors import ModelError
from service.front.engine_client.engine_host import RESTARTING, Refusal
from service.front.engine_client.engine_process import EngineProcess, start_engine
from service.ipc.announcements import open_pipe
from service.ipc.channel import AsyncChannel
from service.ipc.messages import EngineMessage, Ping, StepStarted
from service.processes.door import hand_over, open_door
from service.processes.messages import GiveUp, Verdict


@dataclass(slots=True)
class EngineLink:
    """What there is between one front and one model's engines.

    Attributes:
        is_loaded: the front has read the model's files, and takes an engine.
        is_ready: its health probe of the engine has passed.
        engine: number of the engine that it was connected with; 0 before the first.
    """

    is_loaded: bool = False
    is_ready: bool = False
    engine: int = 0


class EngineFront(Protocol):
    """A front, as far as engines are concerned.

    Attributes:
        index: its place among all.
        links: to the engine of each model.
    """

    index: int
    links: list[EngineLink]

    def send(self, message: msgspec.Struct) -> None:
        """Tell it something."""
        ...

    def hand_over(self, packet: bytes, descriptors: Iterable[int]) -> bool:
        """Give it descriptors; False where it has gone or does not take them."""
        ...


class EngineSharing:
    """The engine's user, on behalf of all fronts.

    Args:
        model: the model's place among those served.
        arena_descriptor: of the shared memory, with a part for each front.
        fronts: gives those that run now.

    Attributes:
        refusal: what fronts answer while there is no engine.
        number: of the engine that is attached, or was last.
    """

    def __init__(self, model: int, arena_descriptor: int, fronts: Callable[[], Iterable[EngineFront]]) -> None:
        self.refusal: Refusal = RESTARTING
        self.number = 0
        self._model = model
        self._arena_descriptor = arena_descriptor
        self._fronts = fronts
        self._channel: AsyncChannel[EngineMessage] | None = None
        self._door: socket.socket | None = None
        self._verdicts: asyncio.Queue[Verdict] = asyncio.Queue()

    async def spawn(self, name: str) -> EngineProcess:
        """Start an engine with a door for the fronts; `name` is its model's.

        Raises:
            OSError: there are no processes or descriptors left.
        """
        if self._door is not None:
            self._door.close()
        self._door, theirs = open_door()
        with theirs:
            return await start_engine(name, self._arena_descriptor, door_descriptor=theirs.fileno())

    async def known_answer(self) -> None:
        """Wait for the next word of any front's health probe.

        Raises:
            ModelError: the answer was wrong.
            TimeoutError: there was none in time.
        """
        verdict = await self._verdicts.get()
        if verdict.outcome == "wrong":
            raise ModelError("internal_error", verdict.reason)
        if verdict.outcome == "late":
            raise TimeoutError

    def heard(self, front: EngineFront, verdict: Verdict) -> None:
        """Note what a front's probe says; of an engine that has gone it says nothing."""
        if verdict.engine == self.number and self._channel is not None:
            front.links[self._model].is_ready |= verdict.outcome == "right"
            self._verdicts.put_nowait(verdict)

    def attach(self, channel: AsyncChannel[EngineMessage]) -> None:
        """Connect every front with a new engine."""
        self._channel = channel
        self._verdicts = asyncio.Queue()
        self.number += 1
        self.connect_all()

    def connect_all(self) -> None:
        """Connect those with the engine that are not; asked for again and again, for a door may be full."""
        for front in self._fronts():
            link = front.links[self._model]
            if link.is_loaded and link.engine != self.number:
                self._connect(front)

    def _connect(self, front: EngineFront) -> None:
        if self._channel is None or self._door is None:
            return
        ours, theirs = socket.socketpair()
        reading, writing = open_pipe()
        try:  # the engine first: where the front does not take its ends, the engine sees that they close
            if hand_over(self._door, b"%d" % front.index, (theirs.fileno(), writing)) and front.hand_over(
                b"engine %d %d" % (self._model, self.number), (ours.fileno(), reading)
            ):
                front.links[self._model].engine = self.number
        except OSError:  # the engine has ended; the next one is connected
            pass
        finally:
            for one in (ours, theirs):
                one.close()
            for descriptor in (reading, writing):
                os.close(descriptor)

    def open(self) -> None:
        """Do nothing: each front opens by its own probe."""

    def close(self) -> None:
        """Do nothing: the engine is ended next."""

    def ping(self) -> None:
        """Ask the engine for a `Pong`."""
        if self._channel is not None:
            self._channel.send(Ping())

    def detach(self) -> None:
        """Forget the engine; the fronts have seen its end by themselves."""
        for front in self._fronts():
            front.links[self._model].is_ready = False
        self._channel = None
        if self._door is not None:
            with suppress(OSError):
                self._door.close()
            self._door = None

    def give_up(self) -> None:
        """Have every front fail what waits."""
        for front in self._fronts():
            front.send(GiveUp(model=self._model, refusal=self.refusal))

    def receive(self, message: EngineMessage) -> None:
        """Pass over a sign of life."""

    def announced(self, step: StepStarted) -> None:
        """Pass over a step: each front hears of its own requests."""
