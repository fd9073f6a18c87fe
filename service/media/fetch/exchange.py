"""One GET over one connection: what is sent, and an answer that is counted while it comes in.

HTTP itself is h11's. Knows no address, follows nothing and keeps nothing.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import h11

from service.errors import MediaError
from service.media.fetch.connection import READ_BYTES, FetchError
from service.media.fetch.url import Url

MAX_HEAD_BYTES = 16 * 1024
MAX_INTERIM_ANSWERS = 8
GRACE_S = 2.0
"""Longest pause in an answer that has brought nothing yet but its first bytes."""
FREE_CHUNKS = 256
MIN_CHUNK_BYTES = 64
"""On average, beyond the free ones: a flood of chunks of a byte costs far more time than bytes."""

Take = Callable[[int], None]
"""Room for bytes that have come in; raises where there is none."""


@dataclass(slots=True)
class Exchange:
    """A request on its way, then its answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    min_bytes_per_s: int
    """At which the answer comes, once it has begun to."""
    status: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    """Of the answer, names in lower case; a name that came twice has its values joined by commas."""
    _http: h11.Connection = field(
        default_factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
    )

    _began_s: float = 0.0
    _num_bytes: int = 0

    async def ask(self, url: Url, conditions: Mapping[str, str]) -> None:
        """Send the request and read the answer's head.

        Args:
            conditions: `If-None-Match`, `If-Modified-Since`, or nothing.
        """
        request = h11.Request(method="GET", target=url.target, headers=[*_headers(url), *conditions.items()])
        sent = (self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b"")
        self.writer.write(sent)
        await self.writer.drain()
        for _ in range(MAX_INTERIM_ANSWERS):
            event = await self._next()
            if isinstance(event, h11.Response):
                self.status, self.fields = event.status_code, _joined(event)
                return
        raise FetchError("protocol_broken")

    async def read(self, max_bytes: int, take: Take) -> bytes:
        """Read the body, which must be as long as announced, and not compressed."""
        if self.fields.get("content-encoding", "identity").strip().lower() != "identity":
            raise FetchError("coding_refused")
        if int(self.fields.get("content-length", "0")) > max_bytes:  # h11 has refused one that is no number
            raise _too_large(max_bytes)
        body, num_chunks = bytearray(), 0
        while not isinstance(event := await self._next(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise FetchError("protocol_broken")
            num_chunks += 1
            body += event.data
            if len(body) > max_bytes:
                raise _too_large(max_bytes)
            if num_chunks > FREE_CHUNKS + len(body) // MIN_CHUNK_BYTES:
                raise FetchError("protocol_broken")
            take(len(event.data))
        return bytes(body)

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._receive())
        except (OSError, h11.RemoteProtocolError) as error:
            raise FetchError("protocol_broken") from error
        assert not isinstance(event, type) or event is h11.PAUSED  # NEED_DATA has been dealt with
        return event

    async def _receive(self) -> bytes:
        """The bytes that come next. A host may think for as long as a fetch may take, and may not drip."""
        clock = asyncio.get_running_loop().time
        late_s = self._began_s + GRACE_S + self._num_bytes / self.min_bytes_per_s if self._num_bytes else None
        try:
            async with asyncio.timeout_at(late_s):
                received = await self.reader.read(READ_BYTES)
        except TimeoutError:
            raise FetchError("too_slow") from None
        self._began_s = self._began_s or clock()
        self._num_bytes += len(received)
        return received


def _headers(url: Url) -> list[tuple[str, str]]:
    """Headers of every request: nothing of the client's, no cookie, no credential."""
    return [
        ("Host", url.authority),
        ("User-Agent", "cenote"),
        ("Accept", "image/*, */*;q=0.1"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]


def _joined(response: h11.Response) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("ascii"), value.decode("latin-1")
        fields[key] = f"{fields[key]}, {text}" if key in fields else text
    return fields


def _too_large(max_bytes: int) -> MediaError:
    return MediaError("media_too_large", f"The file at the URL has more bytes than the {max_bytes} that are accepted.")
