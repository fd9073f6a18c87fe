"""A client that costs little: HTTP/1.1 over plain sockets, bodies that are ready, answers kept as bytes.

The clock is the server's: it starts with a request's first byte and stops with its answer's last. What the client does
itself, making the one and reading the other, is before and after.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11


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

    @property
    def seconds(self) -> float:
        """Between the two."""
        return self.ended_s - self.began_s


class Connection(asyncio.Protocol):
    """One connection that is kept open."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers
        self._state = h11.Connection(h11.CLIENT)
        self._came: asyncio.Queue[bytes] = asyncio.Queue()
        self._came_s = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Note when, before anything else."""
        self._came_s = time.perf_counter()
        self._came.put_nowait(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._came.put_nowait(b"")

    async def post(self, path: str, body: bytes) -> Answer:
        """Send a body and read the whole answer, which has to be 200."""
        assert self._transport
        head = h11.Request(
            method="POST", target=path, headers=[*self._headers.items(), ("content-length", str(len(body)))]
        )
        request = b"".join(self._state.send(event) or b"" for event in (head, h11.Data(data=body), h11.EndOfMessage()))
        began_s = time.perf_counter()
        self._transport.write(request)
        parts: list[bytes] = []
        status = 0
        while not isinstance(heard := await self._next(), h11.EndOfMessage):
            if isinstance(heard, h11.Response):
                status = heard.status_code
            elif isinstance(heard, h11.Data):
                parts.append(bytes(heard.data))
        answer = Answer(b"".join(parts), began_s, self._came_s)
        if status != 200:
            raise RuntimeError(f"{path} answered {status}: {answer.body[:300]!r}")
        self._state.start_next_cycle()
        return answer

    async def _next(self) -> object:
        while (heard := self._state.next_event()) is h11.NEED_DATA:
            self._state.receive_data(await self._came.get())
        return heard

    def close(self) -> None:
        """End it."""
        assert self._transport
        self._transport.close()


async def connect(url: str, key: str | None) -> Connection:
    """A connection to a server, by its URL without a path."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    headers = {"host": parts.netloc, "content-type": "application/json"}
    headers |= {"authorization": f"Bearer {key}"} if key else {}
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
