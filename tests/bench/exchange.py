"""A client that costs little: HTTP/1.1 over plain sockets, bodies that are ready, answers kept as bytes.

The clock is the server's: it starts with a request's first byte and stops with its answer's last. What the client does
itself, making the one and reading the other, is before and after.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httptools


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Attributes:
        body: as it came.
        began_s: when the request's first byte went out.
        ended_s: when the last byte came in.
    """

    body: bytes
    began_s: float
    ended_s: float


class Connection(asyncio.Protocol):
    """One connection that is kept open; one request at a time.

    It is also what `httptools` calls while it reads an answer (`on_body`, `on_message_complete`).
    """

    def __init__(self, headers: str) -> None:
        self._headers = headers
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._came_s = 0.0
        self._done: asyncio.Future[None] | None = None
        self._lost: Exception | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by isinstance

    def data_received(self, data: bytes) -> None:
        """Note when, before anything else."""
        self._came_s = time.perf_counter()
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """A part of an answer's body."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """An answer's end."""
        if self._done and not self._done.done():
            self._done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._lost = exc or ConnectionError("the server closed the connection before its answer's end")
        if self._done and not self._done.done():
            self._done.set_exception(self._lost)

    async def post(self, path: str, body: bytes) -> Answer:
        """Send a body and read the whole answer, which has to be 200."""
        assert self._transport
        if self._lost is not None:
            raise self._lost
        request = f"POST {path} HTTP/1.1\r\n{self._headers}content-length: {len(body)}\r\n\r\n".encode() + body
        self._parts = []
        self._done = asyncio.get_running_loop().create_future()
        began_s = time.perf_counter()
        self._transport.write(request)
        await self._done
        answer = Answer(b"".join(self._parts), began_s, self._came_s)
        if (status := self._parser.get_status_code()) != 200:
            raise RuntimeError(f"{path} answered {status}: {answer.body[:300]!r}")
        return answer

    def close(self) -> None:
        """End it."""
        assert self._transport
        self._transport.close()


async def connect(url: str, key: str | None) -> Connection:
    """A connection to a server, by its URL without a path."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    headers = f"host: {parts.netloc}\r\ncontent-type: application/json\r\n"
    headers += f"authorization: Bearer {key}\r\n" if key else ""
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: Connection(headers), parts.hostname, port, ssl=parts.scheme == "https" or None
    )
    return connection


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

    await asyncio.gather(*map(work, connections))
    given = [answer for answer in answers if answer is not None]
    return given, max(answer.ended_s for answer in given) - min(answer.began_s for answer in given)
