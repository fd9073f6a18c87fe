"""The messages between the main process and its fronts: tagged msgspec Structs, sent as msgpack; never pickle.

Those about engines are in `service/front/engine_client/front_link.py`. Descriptors go another way
(`ipc/descriptors.py`): a connection that was accepted, or a front's ends of the lines to an engine.
"""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec

from service.front.engine_client.front_link import EngineNews, EngineReport
from service.settings.settings import Settings


class ProcessMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Anything else that crosses the socket pair of main process and front."""


# Main process to front.


class StartFront(ProcessMessage, frozen=True, kw_only=True):
    """The first message."""

    settings: Settings
    index: int
    num_fronts: int
    first_id: int
    """Of its requests; each next one is `num_fronts` more. No front before it had any of them."""


# Front to main process.


class FrontServing(ProcessMessage, frozen=True, kw_only=True):
    """Connections may come."""


class Beat(ProcessMessage, frozen=True, kw_only=True):
    """The front's event loop runs."""


class ConnectionsChanged(ProcessMessage, frozen=True, kw_only=True):
    """Connections that have ended since the last message, and those that took the place of another one."""

    by: dict[str, int]
    """Change of a peer's number."""


class Failed(ProcessMessage, frozen=True, kw_only=True):
    """This front can never serve; its log says why."""


# Either way. The main process asks a front, which asks it for what all fronts together say.


class AskSeries(ProcessMessage, frozen=True, kw_only=True):
    """A question for series in Prometheus' text format."""

    number: int


class AskUuid(ProcessMessage, frozen=True, kw_only=True):
    """A question for what a client's name for an image is bound to, as `UuidStore.packed` gives it."""

    number: int
    tenant: bytes
    uuid: str


class Answered(ProcessMessage, frozen=True, kw_only=True):
    """The answer to a question, by the number that its asker gave it."""

    number: int
    body: bytes


ToFront = StartFront | EngineNews | AskSeries | AskUuid | Answered
ToMain = Beat | FrontServing | EngineReport | ConnectionsChanged | Failed | AskSeries | AskUuid | Answered


class Questions:
    """The questions of one end of a channel to the other, and their answers by number.

    Args:
        send: to the other end.
        timeout_s: an answer that takes longer is empty.
    """

    def __init__(self, send: Callable[[msgspec.Struct], None], timeout_s: float) -> None:
        self._send = send
        self._timeout_s = timeout_s
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[bytes]] = {}

    async def series(self) -> bytes:
        """The series of the other end; nothing where it does not answer."""
        number = next(self._numbers)
        return await self._ask(number, AskSeries(number=number))

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        """Ask for the content of a name there; nothing where it has none, or it does not answer."""
        number = next(self._numbers)
        return await self._ask(number, AskUuid(number=number, tenant=tenant, uuid=uuid))

    def on_answered(self, message: Answered) -> None:
        """Hand an answer to who waits for it."""
        if (future := self._asked.get(message.number)) is not None and not future.done():
            future.set_result(message.body)

    def close(self) -> None:
        """No more answers will come."""
        for future in self._asked.values():
            if not future.done():
                future.set_result(b"")

    async def _ask(self, number: int, question: AskSeries | AskUuid) -> bytes:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[number] = future
        self._send(question)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await future
        except TimeoutError:
            return b""
        finally:
            del self._asked[number]
