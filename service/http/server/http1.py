"""HTTP/1.1 of one connection: events of what comes, bytes of answers. States and events are h11's.

h11 reads a head line by line, and at each event of either side steps through its states and looks for the headers that
decide them: a sixth of the front's CPU for a short request. So a request whose head one expression reads whole, and its
answer by a 200 of a stated length, are done here. All else is left to h11, one connection of it for each such exchange.
Nothing is refused in a second way: what is not plain is h11's to refuse, after `check_head` and `_checked`.

Blank lines before a request are passed over: some clients send one after a body.

Source: RFC 9112 sections 2.2, 2.3, 3.2.2, 5.2, 6.1 and 11.2.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import h11
from h11._headers import Headers as H11Headers  # h11's own way there would check each of them again
from h11._util import Sentinel
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES

from service.http.server.pacing import ChunkTurns

Headers = Sequence[tuple[bytes, bytes]]
Event = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]

MAX_TARGET_BYTES = 8192
MAX_LINE_OVERHEAD = 64
"""Most bytes of a request line besides its target: method, spaces, version."""

MAX_HEADERS = 100

MAX_PLAIN_BYTES = 8192
"""Of a head that is read here; a longer one has to be compared with the limits of targets and heads."""

MAX_TINY_CHUNKS = 4096
TINY_BYTES = 64
"""A chunk costs 15 µs to parse however small it is; bodies of honest clients come in kilobytes."""

NDJSON = b"application/x-ndjson"
STREAM_ROUTE = b"/v1/embeddings/stream"
LINE_BYTES = 12
"""The shortest line of a stream, `{"input":""}`. A stream's body may come in a chunk for each line, and a chunk as long
as that pays for a tiny one: for the newline that some clients send by itself. On no other route: its refusal would come
after the chunks were parsed."""

CLOSE = b"connection: close\r\n"
CR = 13
END = h11.EndOfMessage()

HOST = re.compile(rb"(?:[A-Za-z0-9._~%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
LENGTH = re.compile(rb"[0-9]{1,15}")

_PLAIN_HEAD = re.compile(
    rb"(GET|POST) (/[!-~]*) HTTP/1\.1\r\n"
    rb"((?:[!#$%&'*+.^_`|~0-9A-Za-z-]++: ?(?:[!-~](?:[ -~]*[!-~])?)?\r\n)++)"
)
_FIELD = re.compile(rb"([^:]++): ?([^\r]*+)\r\n")
_DECISIVE = frozenset({b"transfer-encoding", b"expect", b"upgrade"})

_END = re.compile(rb"\n\r?\n")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_BLANK_LINES = re.compile(rb"(?:\r\n)*")
_FOLDED = re.compile(rb"\n[ \t]")
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)((?:[/?][^#]*)?)", re.IGNORECASE)

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection", b"upgrade", b"host"})
_VALUES = re.compile(rb"[!-~](?:[ -~]*[!-~])?(?:\n[!-~](?:[ -~]*[!-~])?)*")
"""Values of printable ASCII with no blank at an end, a line each."""


class Http1:
    """The server's side of one connection, with the methods of h11's that uvicorn calls.

    Args:
        max_head_bytes: limit of request line and headers together.
        turns: the server's, for bodies in chunks.

    Attributes:
        came: what has come and is of no request yet.
        they_are_waiting_for_100_continue: before they send the body.
        num_sent_bytes: bytes that were given to be written so far.
        is_in_chunks: a body in chunks has begun and not ended.
        is_behind: there may be more chunks to parse, in another turn of the loop; `next_event` had no other to give.
        ends_early: the answer refuses a body whose chunks still come, and has said that it ends the connection.
    """

    def __init__(self, max_head_bytes: int, turns: ChunkTurns) -> None:
        self._max_head_bytes = max_head_bytes
        self._turns = turns
        self._h11: h11.Connection | None = None  # whose exchange it is
        self._num_left = 0  # of the body of a request that is read here
        self._num_due = 0  # of the body of an answer that is written here
        self._num_tiny = 0
        self._has_lines = False
        self._head = b""  # of an answer, to be written with the first of its body
        self.their_state: type[Sentinel] = h11.IDLE
        self.our_state: type[Sentinel] = h11.IDLE
        self.came = b""
        self.they_are_waiting_for_100_continue = False
        self.num_sent_bytes = 0
        self.is_in_chunks = False
        self.is_behind = False
        self.ends_early = False

    def receive_data(self, data: bytes) -> None:
        """Take in what has come."""
        if self._h11 is not None and self.their_state is h11.SEND_BODY:
            self._h11.receive_data(data)
        else:
            self.came += data

    def next_event(self) -> Event:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the client broke HTTP, or our rules.
        """
        if self.their_state is h11.IDLE:
            if not self.came or (self.came[0] == CR and self._is_blank()):
                return h11.NEED_DATA
            plain = read_plain(self.came, self._max_head_bytes)
            if plain is None:
                return self._request_of_h11()
            self.came, self._num_left = self.came[plain.num_head_bytes :], plain.num_body_bytes
            self.their_state, self.our_state = h11.SEND_BODY, h11.SEND_RESPONSE
            self._num_tiny, self._has_lines, self.they_are_waiting_for_100_continue = 0, False, False
            return plain.request
        if self.their_state is not h11.SEND_BODY:
            if self.came and self.their_state is h11.MUST_CLOSE:
                raise _refused(400, "more after the last request")
            return h11.PAUSED if self.came else h11.NEED_DATA
        if self._h11 is not None:
            event = self._next_of_h11(self._h11)
        elif not self._num_left:
            self.their_state = h11.DONE
            return END
        elif not self.came:
            return h11.NEED_DATA
        else:
            data, self.came = self.came[: self._num_left], self.came[self._num_left :]
            self._num_left -= len(data)
            event = h11.Data(data=data)
        if isinstance(event, h11.Data):
            if not self._has_lines:
                self._num_tiny += len(event.data) < TINY_BYTES
            else:
                self._num_tiny = max(0, self._num_tiny + (1 if len(event.data) < LINE_BYTES else -1))
            if self._num_tiny > MAX_TINY_CHUNKS:
                raise h11.RemoteProtocolError("too many tiny chunks")
        return event

    def _is_blank(self) -> bool:
        """Pass over blank lines before a request; True where nothing else has come, of which one line is kept.

        That one is data that has come, so the head that it begins has to come in time.
        """
        end = _BLANK_LINES.match(self.came).end()  # type: ignore[union-attr]  # it always matches
        rest = self.came[end:]
        is_blank = rest in (b"", b"\r")
        self.came = self.came[: min(end, 2)] + rest if is_blank else rest
        return is_blank

    def _request_of_h11(self) -> Event:
        """The request whose head has come, read by h11; `NEED_DATA` where it has not come whole."""
        if not check_head(self.came, self._max_head_bytes):
            return h11.NEED_DATA
        self._h11 = h11.Connection(h11.SERVER, self._max_head_bytes)
        self._h11.receive_data(self.came)
        event = self._next_of_h11(self._h11)
        self.came = b""
        assert isinstance(event, h11.Request)
        return self._checked(event)

    def _checked(self, request: h11.Request) -> h11.Request:
        if not request.http_version.startswith(b"1."):
            raise _refused(400, "another version of HTTP")
        if not request.target.startswith(b"/") and b"://" in request.target:
            request = origin_form(request)
        fields = {name.lower(): value for name, value in request.headers.raw_items()}
        if b"content-length" in fields and b"transfer-encoding" in fields:
            raise _refused(400, "two lengths")
        if not HOST.fullmatch(fields.get(b"host", b"")):
            raise _refused(400, "a malformed Host")
        self._num_tiny = 0
        self.is_in_chunks = b"transfer-encoding" in fields
        is_stream = self.is_in_chunks and request.target.partition(b"?")[0] == STREAM_ROUTE
        self._has_lines = is_stream and fields.get(b"content-type") == NDJSON
        return request

    def _next_of_h11(self, conn: h11.Connection) -> Event:
        if self.is_in_chunks:
            self.is_behind = not self._turns.take()
            if self.is_behind:
                return h11.NEED_DATA
        try:
            return conn.next_event()
        finally:
            self._follow(conn)

    def _follow(self, conn: h11.Connection) -> None:
        """Take over h11's states; with the end of its request, what has come after that."""
        if self.their_state is h11.SEND_BODY is not conn.their_state:
            self.came = conn.trailing_data[0]
        self.their_state, self.our_state = conn.their_state, conn.our_state
        self.is_in_chunks = self.is_in_chunks and self.their_state is h11.SEND_BODY
        self.they_are_waiting_for_100_continue = conn.they_are_waiting_for_100_continue

    def start_next_cycle(self) -> None:
        """Begin anew, when request and answer are over.

        Raises:
            h11.LocalProtocolError: one of them is not.
        """
        if not self.our_state is self.their_state is h11.DONE:
            raise h11.LocalProtocolError("a next request before the end of this one")
        self._h11 = None
        self.their_state = self.our_state = h11.IDLE

    def begin_answer(self, status: int, headers: Headers) -> None:
        """Send an answer's head; it is written with the first of its body: one write, and one wake-up there.

        h11 checks each name and each value by itself, which for eleven headers costs as much as parsing the request.
        Names are few and known after their first time, and all values are checked by one expression.

        Raises:
            h11.LocalProtocolError: a header may not be sent.
        """
        names, values = tuple([name for name, _ in headers]), tuple([value for _, value in headers])
        lines = b"\n".join(values)
        is_fine = lines.count(b"\n") == len(values) - 1 and _VALUES.fullmatch(lines) is not None
        is_plain = status == 200 and self._h11 is None and self.their_state is h11.DONE
        plain = _plain_head(names) if is_fine and is_plain and self.our_state is h11.SEND_RESPONSE else None
        if plain is not None and LENGTH.fullmatch(values[plain[1]]):
            self._head, self._num_due, self.our_state = plain[0] % values, int(values[plain[1]]), h11.SEND_BODY
        else:
            is_fine = is_fine and all(map(_is_name, names))
            reason = STATUS_PHRASES[status]
            self.send(h11.Response(status_code=status, headers=list(headers), reason=reason, _parsed=is_fine))

    def send(self, event: h11.Event) -> bytes | None:
        """The bytes of an event; an answer's head waits for the first of its body.

        Raises:
            h11.LocalProtocolError: it is not this event's turn, or the answer's length is another than its head says.
        """
        kind = type(event)
        if self._h11 is None and kind is h11.Response and self.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._h11 = self._told()
        if self._h11 is not None:
            sent = self._send_by_h11(self._h11, event)
        elif type(event) is h11.Data and self.our_state is h11.SEND_BODY and len(event.data) <= self._num_due:
            self._num_due -= len(event.data)
            sent = event.data
        elif kind is h11.EndOfMessage and self.our_state is h11.SEND_BODY and not self._num_due:
            self.our_state, sent = h11.DONE, b""
        elif kind is h11.ConnectionClosed and self.our_state in (h11.IDLE, h11.DONE, h11.CLOSED):
            self.our_state, sent = h11.CLOSED, None
        else:
            self.our_state = h11.ERROR
            raise h11.LocalProtocolError(f"{kind.__name__} in the wrong place, or not of the answer's length")
        if sent is None or kind is h11.Response:
            self._head = sent or b""
            return None if sent is None else b""
        sent, self._head = self._head + sent, b""
        self.num_sent_bytes += len(sent)
        return sent

    def _told(self) -> h11.Connection:
        """h11 after the request that was read here, with what is left of its body; with none where none was."""
        conn = h11.Connection(h11.SERVER, self._max_head_bytes)
        if self.our_state is h11.SEND_RESPONSE:
            conn.receive_data(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % self._num_left)
            conn.next_event()
            if self.their_state is h11.DONE:
                conn.next_event()
            elif self.came:
                conn.receive_data(self.came)
                self.came = b""
        return conn

    def _send_by_h11(self, conn: h11.Connection, event: h11.Event) -> bytes | None:
        try:
            sent = conn.send(event)
        finally:
            self._follow(conn)
        if sent and isinstance(event, h11.Response) and event.status_code >= 400 and self.is_in_chunks:
            self.ends_early = True
            return sent[:-2] + CLOSE + b"\r\n"  # h11 must not know of it, or it would close at once
        return sent


class PlainRequest(NamedTuple):
    """A request that was read without h11, and where its head and its body end."""

    request: h11.Request
    num_head_bytes: int
    num_body_bytes: int


class PlainHeaders(H11Headers):
    """h11's, which asks itself for each item by its index."""

    __slots__ = ()

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter([(name, value) for _, name, value in self._full_items])


def read_plain(raw: bytes, max_head_bytes: int) -> PlainRequest | None:
    """The request that begins `raw`, if its head is all there and plain; h11 would give the same.

    Args:
        raw: what has come since the last request.
        max_head_bytes: limit of request line and headers together.
    """
    end = raw.find(b"\r\n\r\n", 0, min(MAX_PLAIN_BYTES, max_head_bytes)) + 2
    found = _PLAIN_HEAD.fullmatch(raw, 0, end) if end > 1 else None
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
    return PlainRequest(request, end + 2, int(length))


def check_head(raw: bytes, max_head_bytes: int) -> bool:
    """Refuse a head that is too large, or that two parsers could read in two ways; whether it has come whole.

    Args:
        raw: what has come of the head, and perhaps of what follows it.
        max_head_bytes: limit of request line and headers together.

    Raises:
        h11.RemoteProtocolError: with 400, 414 or 431 as its hint.
    """
    end = _END.search(raw)
    head = raw[: end.end()] if end else raw
    if len(head.partition(b"\n")[0]) > MAX_TARGET_BYTES + MAX_LINE_OVERHEAD:
        raise _refused(414, "the target is too long")
    if len(head) > max_head_bytes or head.count(b"\n") > MAX_HEADERS + 2:
        raise _refused(431, "the head is too large")
    if _BARE_LF.search(head) or _FOLDED.search(head) or head[0] <= ord(" "):
        raise _refused(400, "bare line feed, folded line, or no method")
    return end is not None


def origin_form(request: h11.Request) -> h11.Request:
    """The request with a path as its target, where that is a whole URL, as proxies are sent it; it gives the host too.

    Raises:
        h11.RemoteProtocolError: the URL is none of this server's.
    """
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        raise _refused(400, "a target that is no URL of an HTTP server")
    host, rest = found.groups()
    headers = [(name, value) for name, value in request.headers if name != b"host"]
    target = rest if rest.startswith(b"/") else b"/" + rest
    version = request.http_version
    return h11.Request(method=request.method, headers=[(b"host", host), *headers], target=target, http_version=version)


def _refused(status: int, why: str) -> h11.RemoteProtocolError:
    return h11.RemoteProtocolError(why, error_status_hint=status)


@lru_cache(256)
def _is_name(name: bytes) -> bool:
    return _NAME.fullmatch(name) is not None


@lru_cache(256)
def _plain_head(names: tuple[bytes, ...]) -> tuple[bytes, int] | None:
    """The head of a 200 with places for the values of these headers, and which of them is the length of its body.

    None where that is not the only header that has a say in how the answer is framed, or not a name.
    """
    if names.count(b"content-length") != 1 or not all(map(_is_name, names)):
        return None
    if any(name.lower() in _FRAMING for name in names if name != b"content-length"):
        return None
    lines = b"".join([b"%b: %%b\r\n" % name.replace(b"%", b"%%") for name in names])
    return b"HTTP/1.1 200 OK\r\n%b\r\n" % lines, names.index(b"content-length")
