"""The head of an answer, its headers checked together.

h11 checks each name and each value by itself, which for eleven headers costs as much as parsing the request. Names are
few and known after their first time, and all values are checked by one expression. Where that fails, h11 decides.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import h11
from litestar.types import Message, Send
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

from service.http.server.plain_exchange import LENGTH

Headers = Sequence[tuple[bytes, bytes]]

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
LENGTH_NAME = b"content-length"
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"host"})
_VALUES = re.compile(rb"[!-~](?:[ -~]*[!-~])?(?:\n[!-~](?:[ -~]*[!-~])?)*")
"""Values of printable ASCII with no blank at an end, a line each."""


def sender(cycle: RequestResponseCycle, begin: Callable[[int, Headers], None]) -> Send:
    """A request's `send` as uvicorn's own, but for an answer's head, which `begin` sends."""

    async def send(message: Message) -> None:
        if message["type"] != "http.response.start" or cycle.response_started or cycle.flow.write_paused:
            await cycle.send(message)  # type: ignore[arg-type]  # litestar's name for the same messages
        elif not cycle.disconnected:
            cycle.response_started, cycle.waiting_for_100_continue = True, False
            headers = [*cycle.default_headers, *message["headers"]]
            if CLOSE_HEADER in cycle.scope["headers"] and CLOSE_HEADER not in headers:
                headers.append(CLOSE_HEADER)
            begin(message["status"], headers)

    return send


def answer_head(status: int, headers: Headers) -> h11.Response:
    """The event of a status and headers.

    Raises:
        h11.LocalProtocolError: a name or value may not be sent.
    """
    is_fine = _are_well_formed(headers) and all(map(_is_name, [name for name, _ in headers]))
    reason = STATUS_PHRASES[status]
    return h11.Response(status_code=status, headers=list(headers), reason=reason, http_version=b"1.1", _parsed=is_fine)


def plain_answer(headers: Headers) -> tuple[bytes, int] | None:
    """The head of a 200 as h11 would write it, and the length of its body; None where h11 has to decide either."""
    plain = _plain_head(tuple([name for name, _ in headers]))
    if plain is None or not _are_well_formed(headers):
        return None
    head, length_at = plain
    values = [value for _, value in headers]
    return (head % tuple(values), int(values[length_at])) if LENGTH.fullmatch(values[length_at]) else None


def _are_well_formed(headers: Headers) -> bool:
    """Whether all values may be sent as they are."""
    values = b"\n".join([value for _, value in headers])
    return values.count(b"\n") == len(headers) - 1 and _VALUES.fullmatch(values) is not None


@lru_cache(256)
def _is_name(name: bytes) -> bool:
    return _NAME.fullmatch(name) is not None


@lru_cache(256)
def _plain_head(names: tuple[bytes, ...]) -> tuple[bytes, int] | None:
    """The head of a 200 with places for the values of these headers, and which of them is the length of the body.

    None where that is not the only header that has a say in how the answer is framed, or not a name.
    """
    if names.count(LENGTH_NAME) != 1 or not all(map(_is_name, names)):
        return None
    if any(name.lower() in _FRAMING for name in names if name != LENGTH_NAME):
        return None
    lines = b"".join([b"%b: %%b\r\n" % name.replace(b"%", b"%%") for name in names])
    return b"HTTP/1.1 200 OK\r\n%b\r\n" % lines, names.index(LENGTH_NAME)
