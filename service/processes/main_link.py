"""A front's link to the main process: what it is told, what it tells, and the socket by which descriptors come.

When the main process has gone, so has the reason to go on: nobody else would end the engine's fronts.
"""

import asyncio
import os
import socket  # noqa: TID251  # socket pairs
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from service import metrics
from service.front.admission.shared_table import SharedTable
from service.front.engine_client.front_link import (
    EngineBroken,
    EngineNews,
    EngineReport,
    EngineStatus,
    FollowsEngine,
    GiveUp,
    SuspectNews,
)
from service.front.inputs.uuids import UuidStore
from service.http.server.peers import Arrival, ArrivalVerdict
from service.ipc.channel import AsyncChannel
from service.ipc.descriptors import watch_passing
from service.processes.messages import Answered, AskSeries, AskUuid, ConnectionsChanged, Questions, StartFront, ToFront

ANSWER_S = 10.0
"""The main process waits for other fronts in this time."""


class MainLink:
    """A `FrontLink` to the main process; used on the front's event loop.

    Args:
        channel: to the main process.
        start: what it said first.

    Attributes:
        adopt: takes a connection that was accepted.
        closed: is called when no more connections will come.
        lost: is called when the main process has gone.
    """

    def __init__(
        self, channel: AsyncChannel[ToFront], start: StartFront, table_descriptor: int, arena_descriptors: Sequence[int]
    ) -> None:
        self.index, self.num_fronts, self.first_id = start.index, start.num_fronts, start.first_id
        self.owner_pid = os.getppid()
        self.table = SharedTable.inherited(table_descriptor, start.index)
        self.adopt: Callable[[socket.socket, Arrival], None] = lambda sock, _: sock.close()
        self.closed: Callable[[], None] = lambda: None
        self.lost: Callable[[], None] = lambda: os._exit(1)
        self._arenas = arena_descriptors
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._followers: dict[int, FollowsEngine] = {}
        self._news: list[EngineNews] = []
        self._bound_to: Callable[[bytes, str], bytes] = lambda _, __: b""
        self._questions = Questions(self.send, ANSWER_S)
        self._changes: Counter[str] = Counter()

    def send(self, message: msgspec.Struct) -> None:
        """Tell the main process something."""
        self._channel.send(message)

    def arena(self, model: int) -> int:
        """Descriptor of the shared memory for a model's pixels."""
        return self._arenas[model]

    def follow(self, model: int, follower: FollowsEngine) -> None:
        """Tell `follower` of a model's engine, and what was said of it before."""
        self._followers[model] = follower
        for message in self._news:
            if message.model == model:
                follower.on_news(message)
        self._news = [message for message in self._news if message.model != model]

    def report(self, message: EngineReport) -> None:
        """Tell the keeper of a model's engine something."""
        self.send(message)

    def share_uuids(self, store: UuidStore) -> None:
        """Let the other fronts ask for names that are bound in `store`."""
        self._bound_to = store.packed

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        """Ask for the content that another front has bound a name to."""
        return await self._questions.find_uuid(tenant, uuid)

    async def scrape(self) -> bytes:
        """The series of all processes; nothing where the main process does not answer."""
        return await self._questions.series()

    async def close(self) -> None:
        """Do nothing: the main process ends the engines."""

    async def run(self, passing: socket.socket) -> None:
        """Hear the main process until it has gone."""
        watch_passing(passing, self._on_descriptors)
        await self._channel.each(self._on_message)
        self.lost()

    def connections_changed(self, peer: str, by: int) -> None:
        """Count one that has come or ended; the main process hears of those of one turn of the loop together."""
        if not self._changes:
            self._loop.call_soon(self._tell_changes)
        self._changes[peer] += by

    def _tell_changes(self) -> None:
        self.send(ConnectionsChanged(by=dict(self._changes)))
        self._changes.clear()

    def _on_message(self, message: ToFront) -> None:
        match message:
            case EngineStatus() | GiveUp() | EngineBroken() | SuspectNews():
                if (follower := self._followers.get(message.model)) is not None:
                    follower.on_news(message)
                else:
                    self._news.append(message)
            case AskSeries(number=number):
                self.send(Answered(number=number, body=metrics.render(self.index)))
            case AskUuid(number=number):
                self.send(Answered(number=number, body=self._bound_to(message.tenant, message.uuid)))
            case Answered():
                self._questions.on_answered(message)
            case StartFront():
                raise RuntimeError("a front was started twice. This is a bug.")

    def _on_descriptors(self, packet: bytes, descriptors: list[int]) -> None:
        what, *rest = packet.split(b" ")
        if what == b"engine" and (follower := self._followers.get(int(rest[0]))) is not None:
            follower.on_engine(int(rest[1]), socket.socket(fileno=descriptors[0]), descriptors[1])
        elif what == b"connection":
            self.adopt(socket.socket(fileno=descriptors[0]), Arrival(rest[1].decode(), ArrivalVerdict(int(rest[0]))))
        elif what == b"closed":
            self.closed()
        else:
            for one in descriptors:
                os.close(one)
