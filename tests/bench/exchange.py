"""A client that costs little: HTTP/1.1 over plain sockets, bodies that are ready, answers kept as bytes."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

READ_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        body: as it came.
        seconds: from the first byte sent to the last one received.
    """

    body: bytes
    seconds: float


class Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]) -> None:
        self._reader, self._writer, self._headers = reader, writer, headers
        self._state = h11.Connection(h11.CLIENT)

    async def post(self, path: str, body: bytes) -> Answer:
        """Send a body and read the whole answer, which has to be 200."""
        began_s = time.perf_counter()
        head = h11.Request(
            method="POST", target=path, headers=[*self._headers.items(), ("content-length", str(len(body)))]
        )
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._state.send(event) or b"")
        parts: list[bytes] = []
        status = 0
        while not isinstance(heard := await self._next(), h11.EndOfMessage):
            if isinstance(heard, h11.Response):
                status = heard.status_code
            elif isinstance(heard, h11.Data):
                parts.append(bytes(heard.data))
        answer = Answer(b"".join(parts), time.perf_counter() - began_s)
        if status != 200:
            raise RuntimeError(f"{path} answered {status}: {answer.body[:300]!r}")
        self._state.start_next_cycle()
        return answer

    async def _next(self) -> object:
        while (heard := self._state.next_event()) is h11.NEED_DATA:
            self._state.receive_data(await self._reader.read(READ_BYTES))
        return heard

    def close(self) -> None:
        """End it."""
        self._writer.close()


async def connect(url: str, key: str | None) -> Connection:
    """A connection to a server, by its URL without a path."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    reader, writer = await asyncio.open_connection(
        parts.hostname, port, ssl=parts.scheme == "https" or None, limit=READ_BYTES
    )
    headers = {"host": parts.netloc, "content-type": "application/json"}
    return Connection(reader, writer, headers | ({"authorization": f"Bearer {key}"} if key else {}))


async def exchange(connections: Sequence[Connection], path: str, bodies: Sequence[bytes]) -> tuple[list[Answer], float]:
    """Send bodies over connections, each as soon as one is free.

    Returns:
        The answers in the order of the bodies, and the seconds from the first byte to the last.
    """
    answers: list[Answer | None] = [None] * len(bodies)
    waiting = iter(enumerate(bodies))

    async def work(connection: Connection) -> None:
        for number, body in waiting:
            answers[number] = await connection.post(path, body)

    began_s = time.perf_counter()
    await asyncio.gather(*map(work, connections))
    return [answer for answer in answers if answer is not None], time.perf_counter() - began_s
