"""An answer with vectors on its way: a small one in one piece; of a large one a slice is printed, sent, and forgotten.

So no answer holds the loop or the memory. In: the parts of an answer, all of which can be printed. Out: the messages
of its head and body. Where the length is known beforehand it is announced; else the transfer is chunked. Should a
slice fail all the same, the error goes up and the server cuts the connection: no client can take the beginning of an
answer for all of it.
"""

from collections.abc import Mapping
from functools import partial

from litestar.types import Receive, Scope, Send

from service.front.answer_room import Hold
from service.front.turns import Turns
from service.http.late import Parts

SLICE_BYTES = 1 << 17
"""Ten vectors of 1024 numbers, a third of a millisecond. What is smaller altogether is not streamed."""


class Reply:
    """A 200: an ASGI app, which Litestar sends as it is. Litestar's own responses build their headers thrice."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        raise NotImplementedError


class WholeReply(Reply):
    """In one piece."""

    def __init__(self, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(headers)
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send(self._start)  # type: ignore[arg-type]  # one of ASGI's messages
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


class StreamedReply(Reply):
    """Slice by slice."""

    def __init__(self, turns: Turns, parts: Parts, headers: Mapping[str, str], hold: Hold | None) -> None:
        super().__init__(headers)
        self._turns = turns
        self._num_bytes = parts.num_bytes
        self._slices = parts.slices(SLICE_BYTES)
        self._hold = hold

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Print and send, a slice a turn; while the client takes none, one waits and no other is printed."""
        try:
            await send(self._start)  # type: ignore[arg-type]  # one of ASGI's messages
            while (body := await self._turns.take(partial(next, self._slices, None))) is not None:
                await send({"type": "http.response.body", "body": body, "more_body": True})
                self._let_go(len(body))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if self._hold is not None:
                self._hold.close()

    def _let_go(self, num_sent: int) -> None:
        """Hold the part that is left of what was held."""
        if self._hold is not None:
            num_left = max(0, self._num_bytes - num_sent)
            self._hold.keep(self._hold.num_bytes * num_left // max(1, self._num_bytes))
            self._num_bytes = num_left


def reply(turns: Turns, parts: Parts, headers: dict[str, str], media_type: str, hold: Hold | None = None) -> Reply:
    """An answer, in one piece or streamed, whichever suits its size.

    Args:
        turns: of the service.
        parts: of the body.
        headers: of the answer, beside its type and length; ASCII.
        media_type: of the body.
        hold: on what the answer holds, given back as it is sent.
    """
    headers = {**headers, "content-type": media_type}
    if parts.num_bytes <= SLICE_BYTES:
        body = b"".join(parts.pieces())
        return WholeReply(body, {**headers, "content-length": str(len(body))})
    if parts.is_exact:
        headers["content-length"] = str(parts.num_bytes)
    return StreamedReply(turns, parts, headers, hold)
