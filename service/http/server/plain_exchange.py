"""Plain exchanges: a request whose head one expression reads whole, and an answer of a stated length.

h11 reads a head line by line, and at each event of either side steps through its states and looks for the headers that
decide them: a sixth of the front's CPU for a short request. Most requests have no such header. What the expression does
not match is left to h11, which alone refuses.
"""

import re
from collections.abc import Iterator

import h11
from h11._headers import Headers  # h11's own way there would check each of them again
from h11._util import Sentinel

MAX_PLAIN_BYTES = 8192
"""Of a head; a longer one has to be compared with the limits of targets and heads."""

MAX_HEADERS = 100

HOST = re.compile(rb"(?:[A-Za-z0-9._~%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")

_HEAD = re.compile(
    rb"(GET|POST) (/[!-~]*) HTTP/1\.1\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]++: ?(?:[!-~](?:[ -~]*[!-~])?)?\r\n)++)"
)
_FIELD = re.compile(rb"([^:]++): ?([^\r]*+)\r\n")
LENGTH = re.compile(rb"[0-9]{1,15}")
_DECISIVE = frozenset({b"transfer-encoding", b"expect", b"upgrade"})


END = h11.EndOfMessage()
"""Of every plain body: it has no trailers."""


class PlainHeaders(Headers):
    """h11's, which asks itself for each item by its index."""

    __slots__ = ()

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter([(name, value) for _, name, value in self._full_items])


class PlainExchange:
    """A request that came whole or as far as its head, and its answer; states are h11's.

    Args:
        request: its head.
        num_head_bytes: request line, headers and the blank line.
        num_body_bytes: as its head says.

    Attributes:
        num_left: bytes of its body that have not been given.
        their_state: `SEND_BODY` until all of the request was given, then `DONE`.
        our_state: `SEND_RESPONSE` until `begin`, then `SEND_BODY`, `DONE` and `CLOSED`; or `ERROR`.
    """

    __slots__ = ("_num_due", "num_head_bytes", "num_left", "our_state", "request", "their_state")

    def __init__(self, request: h11.Request, num_head_bytes: int, num_body_bytes: int) -> None:
        self.request = request
        self.num_head_bytes = num_head_bytes
        self.num_left = num_body_bytes
        self.their_state: type[Sentinel] = h11.SEND_BODY
        self.our_state: type[Sentinel] = h11.SEND_RESPONSE
        self._num_due = 0

    def next_event(self, came: bytes) -> tuple[h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED], bytes]:
        """The next event after the request's own, and what is left of `came`."""
        if self.their_state is h11.DONE:
            return (h11.PAUSED if came else h11.NEED_DATA), came
        if not self.num_left:
            self.their_state = h11.DONE
            return END, came
        if not came:
            return h11.NEED_DATA, came
        data, rest = came[: self.num_left], came[self.num_left :]
        self.num_left -= len(data)
        return h11.Data(data=data), rest

    @property
    def is_answerable(self) -> bool:
        """All of the request was given, and nothing of an answer."""
        return self.their_state is h11.DONE and self.our_state is h11.SEND_RESPONSE

    def begin(self, num_bytes: int) -> None:
        """The head of the answer has been sent; so many bytes follow."""
        self.our_state, self._num_due = h11.SEND_BODY, num_bytes

    def sent(self, event: h11.Event) -> list[bytes] | None:
        """The bytes of an event of the answer's body, or of the connection's end.

        Raises:
            h11.LocalProtocolError: the answer's length is another, or it is over.
        """
        if type(event) is h11.Data and self.our_state is h11.SEND_BODY and len(event.data) <= self._num_due:
            self._num_due -= len(event.data)
            return [event.data]
        if type(event) is h11.EndOfMessage and self.our_state is h11.SEND_BODY and not self._num_due:
            self.our_state = h11.DONE
            return []
        if type(event) is h11.ConnectionClosed and self.our_state in (h11.DONE, h11.CLOSED):
            self.our_state = h11.CLOSED
            return None
        self.our_state = h11.ERROR
        raise h11.LocalProtocolError(f"{type(event).__name__} in the wrong place, or not of the answer's length")


def read_plain(raw: bytes, max_head_bytes: int) -> PlainExchange | None:
    """The exchange that begins `raw`, if the request's head is all there and plain; h11 would give the same request.

    Args:
        raw: what has come since the last request.
        max_head_bytes: limit of request line and headers together.
    """
    end = raw.find(b"\r\n\r\n", 0, min(MAX_PLAIN_BYTES, max_head_bytes)) + 2
    found = _HEAD.fullmatch(raw, 0, end) if end > 1 else None
    if found is None:
        return None
    method, target, lines = found.groups()
    fields = [(name, name.lower(), value) for name, value in _FIELD.findall(lines)]
    values = {name: value for _, name, value in fields}
    length = values.get(b"content-length", b"0")
    is_plain = (
        len(values) == len(fields) <= MAX_HEADERS
        and _DECISIVE.isdisjoint(values)
        and values.get(b"connection", b"keep-alive").lower() == b"keep-alive"
        and LENGTH.fullmatch(length) is not None
        and HOST.fullmatch(values.get(b"host", b"?")) is not None
    )
    if not is_plain:
        return None
    request = h11.Request(method=method, headers=PlainHeaders(fields), target=target, http_version=b"1.1", _parsed=True)
    return PlainExchange(request, end + 2, int(length))
