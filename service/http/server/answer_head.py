"""The head of an answer, its headers checked together.

h11 checks each name and each value by itself, which for eleven headers costs as much as parsing the request. Names are
few and known after their first time, and all values are checked by one expression. Where that fails, h11 decides.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

import h11
from litestar.types import Message, Send
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUES = re.compile(rb"[!-~](?:[ -~]*[!-~])?(?:\n[!-~](?:[ -~]*[!-~])?)*")
"""Values of printable ASCII with no blank at an end, a line each."""


def sender(cycle: RequestResponseCycle) -> Send:
    """A request's `send` as uvicorn's own, but for an answer's head."""

    async def send(message: Message) -> None:
        if message["type"] != "http.response.start" or cycle.response_started or cycle.flow.write_paused:
            await cycle.send(message)  # type: ignore[arg-type]  # litestar's name for the same messages
        elif not cycle.disconnected:
            cycle.response_started, cycle.waiting_for_100_continue = True, False
            headers = [*cycle.default_headers, *message["headers"]]
            if CLOSE_HEADER in cycle.scope["headers"] and CLOSE_HEADER not in headers:
                headers.append(CLOSE_HEADER)
            cycle.conn.send(answer_head(message["status"], headers))  # `StrictConnection` writes it with the body

    return send


def answer_head(status: int, headers: Sequence[tuple[bytes, bytes]]) -> h11.Response:
    """The event of a status and headers.

    Raises:
        h11.LocalProtocolError: a name or value may not be sent.
    """
    values = b"\n".join([value for _, value in headers])
    is_plain = values.count(b"\n") == len(headers) - 1 and _VALUES.fullmatch(values) is not None
    is_plain = is_plain and all(_is_name(name) for name, _ in headers)
    reason = STATUS_PHRASES[status]
    return h11.Response(status_code=status, headers=list(headers), reason=reason, http_version=b"1.1", _parsed=is_plain)


@lru_cache(256)
def _is_name(name: bytes) -> bool:
    return _NAME.fullmatch(name) is not None
