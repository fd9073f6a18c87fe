"""A front's link to the main process: what it is told, what it tells, and the door by which descriptors come.

When the main process has gone, so has the reason to go on: nobody else would end the engine's fronts.
"""

import asyncio
import os
import socket  # noqa: TID251  # socket pairs
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Protocol

import msgspec

from service import metrics
from service.front.inputs.uuids import UuidStore
from service.http.server.peers import Arrival, Verdict
from service.ipc.channel import AsyncChannel
from service.processes.door import watch_door
from service.processes.messages import (
    ConnectionsChanged,
    EngineBroken,
    EngineNews,
    EngineStatus,
    GiveUp,
    Merged,
    ScrapeAll,
    Scraped,
    ScrapeFront,
    StartFront,
    Strikes,
    ToFront,
    UuidBound,
    UuidKnown,
)
from service.processes.uuid_sharing import SharedNames, bind_here

SCRAPE_TIMEOUT_S = 10.0


class FollowsEngine(Protocol):
    """Hears of the engine, as `LinkedKeeper` does."""

    def told(self, message: EngineNews) -> None:
        """Hear of it."""
        ...

    def came(self, number: int, sock: socket.socket, pipe: int) -> None:
        """Take the ends of the lines to it."""
        ...


class MainLink:
    """The link; used on the front's event loop.

    Attributes:
        start: what the main process said first.
        adopt: takes a connection that was accepted.
        closed: is called when no more connections will come.
        lost: is called when the main process has gone.
    """

    def __init__(self, channel: AsyncChannel[ToFront], start: StartFront) -> None:
        self.start = start
        self.adopt: Callable[[socket.socket, Arrival], None] | None = None
        self.closed: Callable[[], None] = lambda: None
        self.lost: Callable[[], None] = lambda: os._exit(1)
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._keepers: dict[int, FollowsEngine] = {}
        self._news: list[EngineNews] = []
        self._uuids: UuidStore | None = None
        self._names = SharedNames(start.index, self.send)
        self._scrapes: dict[int, asyncio.Future[bytes]] = {}
        self._numbers = count(1)
        self._changes: Counter[str] = Counter()

    def send(self, message: msgspec.Struct) -> None:
        """Tell the main process something."""
        self._channel.send(message)

    def listen(self, model: int, keeper: FollowsEngine) -> None:
        """Tell `keeper` of a model's engine, and what was said of it before."""
        self._keepers[model] = keeper
        for message in self._news:
            if message.model == model:
                keeper.told(message)
        self._news = [message for message in self._news if message.model != model]

    def share_uuids(self, store: UuidStore) -> None:
        """Let names that are bound here be known at all fronts, and theirs here."""
        self._uuids = store
        store.sharing = self._names

    async def run(self, door: socket.socket) -> None:
        """Hear the main process until it has gone."""
        watch_door(door, self._came)
        await self._channel.each(self._take)
        self.lost()

    async def scrape(self) -> bytes:
        """The series of all processes.

        Raises:
            TimeoutError: the main process did not answer.
        """
        number = next(self._numbers)
        future = self._scrapes[number] = self._loop.create_future()
        self.send(ScrapeAll(number=number))
        try:
            async with asyncio.timeout(SCRAPE_TIMEOUT_S):
                merged: bytes = await future
                return merged
        finally:
            del self._scrapes[number]

    def connections_changed(self, peer: str, by: int) -> None:
        """Count one that has come or ended; the main process hears of those of one turn of the loop together."""
        if not self._changes:
            self._loop.call_soon(self._tell_changes)
        self._changes[peer] += by

    def _tell_changes(self) -> None:
        self.send(ConnectionsChanged(by=dict(self._changes)))
        self._changes.clear()

    def _take(self, message: ToFront) -> None:
        match message:
            case EngineStatus() | GiveUp() | EngineBroken() | Strikes():
                if (keeper := self._keepers.get(message.model)) is not None:
                    keeper.told(message)
                else:
                    self._news.append(message)
            case ScrapeFront(number=number):
                self.send(Scraped(number=number, text=metrics.render()))
            case Merged(number=number, text=text):
                if (future := self._scrapes.get(number)) is not None and not future.done():
                    future.set_result(text)
            case UuidBound():
                if self._uuids is not None:
                    bind_here(self._uuids, message)
                self.send(UuidKnown(index=message.index, number=message.number))
            case UuidKnown(number=number):
                self._names.heard(number)
            case StartFront():
                raise RuntimeError("a front was started twice. This is a bug.")

    def _came(self, packet: bytes, descriptors: list[int]) -> None:
        what, *rest = packet.split(b" ")
        if what == b"engine" and (keeper := self._keepers.get(int(rest[0]))) is not None:
            keeper.came(int(rest[1]), socket.socket(fileno=descriptors[0]), descriptors[1])
        elif what == b"connection" and self.adopt is not None:
            self.adopt(socket.socket(fileno=descriptors[0]), Arrival(rest[1].decode(), Verdict(int(rest[0]))))
        elif what == b"closed":
            self.closed()
        else:
            for one in descriptors:
                os.close(one)
