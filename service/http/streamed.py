"""A large answer on its way: a slice is printed, sent, and forgotten, so it holds neither the loop nor the memory.

In: the parts of an answer, all of which can be printed. Out: the messages of its body. Where the length is known
beforehand it is announced; else the transfer is chunked. Should a slice fail all the same, the error goes up and the
server cuts the connection: no client can take the beginning of an answer for all of it.
"""

from functools import partial
from typing import Any

from litestar import Request, Response
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Send

from service.front.turns import Turns
from service.http.late import Parts

SLICE_BYTES = 1 << 17
"""Ten vectors of 1024 numbers, a third of a millisecond. What is smaller altogether is not streamed."""


def reply(turns: Turns, parts: Parts, headers: dict[str, str], media_type: str) -> Response[bytes]:
    """An answer, in one piece or streamed, whichever suits its size.

    Args:
        turns: of the service.
        parts: of the body.
        headers: of the answer, beside its type and length.
        media_type: of the body.
    """
    if parts.num_bytes <= SLICE_BYTES:
        return Response(b"".join(parts.pieces()), headers=headers, media_type=media_type)
    if parts.is_exact:
        headers = {**headers, "content-length": str(parts.num_bytes)}
    return Streamed(turns, parts, headers, media_type)


class Streamed(Response[bytes]):
    """Litestar's response for an answer that is printed while it is sent."""

    __slots__ = ("_parts", "_turns")

    def __init__(self, turns: Turns, parts: Parts, headers: dict[str, str], media_type: str) -> None:
        super().__init__(b"", headers=headers, media_type=media_type)
        self._turns = turns
        self._parts = parts

    def to_asgi_response(self, app: Any, request: Request[Any, Any, Any], **given: Any) -> "ASGIStreamed":
        """The ASGI app that sends it; see Litestar's own."""
        return ASGIStreamed(
            self._turns,
            self._parts,
            headers={**(given["headers"] or {}), **self.headers},
            media_type=self.media_type,
            status_code=self.status_code or given["status_code"],
        )


class ASGIStreamed(ASGIResponse):
    """Sends the parts of an answer slice by slice."""

    _should_set_content_length = False

    def __init__(self, turns: Turns, parts: Parts, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._turns = turns
        self._parts = parts

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Print and send, a slice a turn; while the client takes none, one waits and no other is printed."""
        slices = self._parts.slices(SLICE_BYTES)
        while (body := await self._turns.take(partial(next, slices, None))) is not None:
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
