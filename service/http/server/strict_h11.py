"""h11's connection with stricter heads, a bound on bodies in tiny chunks, and answers that begin in one write.

A head that two parsers could read in two ways is refused before it is parsed, with the status that says why.

Blank lines before a request are passed over: some clients send one behind a body.

Source: RFC 9112 sections 2.2, 2.3, 3.2.2, 5.2, 6.1 and 11.2.
"""

import re
import sys

import h11
from h11._util import Sentinel

from service.http.server.answer_head import Headers, answer_head, plain_answer
from service.http.server.pacing import ChunkTurns
from service.http.server.plain_exchange import HOST, MAX_HEADERS, PlainExchange, read_plain

MAX_TARGET_BYTES = 8192
MAX_LINE_OVERHEAD = 64
"""What a request line has besides its target: method, spaces, version."""

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

_END = re.compile(rb"\n\r?\n")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_BLANK_LINES = re.compile(rb"(?:\r\n)*")
_FOLDED = re.compile(rb"\n[ \t]")
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)((?:[/?][^#]*)?)", re.IGNORECASE)


class StrictConnection(h11.Connection):
    """The server's side of one connection. h11 hears of an exchange only where request or answer is not plain.

    Args:
        max_head_bytes: limit of request line and headers together.
        turns: the server's, for bodies in chunks.

    Attributes:
        num_sent_bytes: bytes that were given to be written so far.
        is_behind: there may be more chunks to parse, in another turn of the loop; `next_event` had no other to give.
        ends_early: the answer refuses a body whose chunks still come, and has said that it ends the connection.
    """

    def __init__(self, max_head_bytes: int, turns: ChunkTurns) -> None:
        super().__init__(h11.SERVER, max_head_bytes)
        self._max_head_bytes = max_head_bytes
        self._turns = turns
        self._num_tiny = 0
        self._is_chunked = False
        self._has_lines = False
        self._head: list[bytes] = []
        self._plain: PlainExchange | None = None
        self._came = b""  # and has not been told to h11
        self._is_h11s = False  # it has been told of a request, at least its first bytes
        self.num_sent_bytes = 0
        self.is_behind = False
        self.ends_early = False

    @property
    def is_in_chunks(self) -> bool:
        """A body in chunks has begun and not ended."""
        return self._is_chunked and self.their_state is h11.SEND_BODY

    @property
    def their_state(self) -> type[Sentinel]:
        """The client's state, as h11 names it."""
        return super().their_state if self._plain is None else self._plain.their_state

    @property
    def our_state(self) -> type[Sentinel]:
        """The server's state, as h11 names it."""
        return super().our_state if self._plain is None else self._plain.our_state

    @property
    def trailing_data(self) -> tuple[bytes, bool]:
        """What has come and is not parsed yet, and whether the client has ended."""
        return super().trailing_data if self._is_h11s else (self._came, False)

    def receive_data(self, data: bytes) -> None:
        """Take in what has come."""
        if self._is_h11s:
            super().receive_data(data)
        else:
            self._came += data

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the client broke HTTP, or our rules.
        """
        if self._plain is not None:
            event, self._came = self._plain.next_event(self._came)
        elif self._is_h11s:
            event = self._next_of_h11()
        elif not self._came or (self._came[0] == CR and self._is_blank()):
            return h11.NEED_DATA
        elif (plain := read_plain(self._came, self._max_head_bytes)) is not None:
            self._plain, self._came = plain, self._came[plain.num_head_bytes :]
            self._num_tiny, self._is_chunked, self._has_lines = 0, False, False
            return plain.request
        else:
            self._tell_h11(b"")
            event = self._next_of_h11()
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
        end = _BLANK_LINES.match(self._came).end()  # type: ignore[union-attr]  # it always matches
        rest = self._came[end:]
        is_blank = rest in (b"", b"\r")
        self._came = self._came[: min(end, 2)] + rest if is_blank else rest
        return is_blank

    def _next_of_h11(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self.their_state is h11.IDLE:
            check_head(self.trailing_data[0], self._max_head_bytes)
        elif self._is_chunked and self.their_state is h11.SEND_BODY:
            self.is_behind = not self._turns.take()
            if self.is_behind:
                return h11.NEED_DATA
        event = super().next_event()
        return self._begun(event) if isinstance(event, h11.Request) else event

    def _tell_h11(self, head: bytes) -> None:
        """Have h11 go on with what has come, behind `head`."""
        self._is_h11s = True
        super().receive_data(head + self._came)
        self._came = b""

    def _leave_to_h11(self) -> None:
        """Tell h11 of a plain request whose answer is not: of one with what is left of the body."""
        assert self._plain is not None
        plain, self._plain = self._plain, None
        self._tell_h11(
            b"%b / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % (plain.request.method, plain.num_left)
        )
        super().next_event()
        if plain.their_state is h11.DONE:
            super().next_event()

    def start_next_cycle(self) -> None:
        """Begin anew, when request and answer are over.

        Raises:
            h11.LocalProtocolError: one of them is not.
        """
        if self._plain is None:
            super().start_next_cycle()
            self._came = bytes(self._receive_buffer.maybe_extract_at_most(sys.maxsize) or b"")
            self._is_h11s = False
        elif self._plain.our_state is self._plain.their_state is h11.DONE:
            self._plain = None
        else:
            raise h11.LocalProtocolError("a next request before the end of this one")

    def _begun(self, request: h11.Request) -> h11.Request:
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
        self._is_chunked = b"transfer-encoding" in fields
        is_stream = self._is_chunked and request.target.partition(b"?")[0] == STREAM_ROUTE
        self._has_lines = is_stream and fields.get(b"content-type") == NDJSON
        return request

    def begin_answer(self, status: int, headers: Headers) -> None:
        """Send an answer's head; it is written with the first of its body: one write, and one wake-up there.

        Raises:
            h11.LocalProtocolError: a header may not be sent.
        """
        plain = self._plain
        is_plain = plain is not None and plain.is_answerable and status == 200
        found = plain_answer(headers) if is_plain else None
        if plain is None or found is None:
            self.send(answer_head(status, headers))
        else:
            head, num_bytes = found
            self._head = [head]
            plain.begin(num_bytes)

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        """The bytes of an event. An answer's head waits for the first of its body."""
        if self._plain is not None and self._plain.our_state is h11.SEND_RESPONSE:
            self._leave_to_h11()
        parts = super().send_with_data_passthrough(event) if self._plain is None else self._plain.sent(event)
        if parts is None or type(event) is h11.Response:  # `isinstance` would ask an abstract class, in Python
            self._head = parts or []
            if type(event) is h11.Response and event.status_code >= 400 and self.is_in_chunks and parts:
                self.ends_early = True
                parts.insert(-1, CLOSE)  # before the blank line; h11 must not know of it, or it would close at once
            return None if parts is None else []
        parts, self._head = [*self._head, *parts], []
        self.num_sent_bytes += sum(map(len, parts))
        return parts


def check_head(raw: bytes, max_head_bytes: int) -> None:
    """Refuse a head that is too large, or that has bare line feeds or folded lines.

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
    if _BARE_LF.search(head) or _FOLDED.search(head):
        raise _refused(400, "bare line feed or folded line")


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
