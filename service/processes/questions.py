"""Questions to the other end of a channel, and their answers by number."""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec

from service.processes.messages import Answered, AskSeries, AskUuid


class Questions:
    """The questions of one end.

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
