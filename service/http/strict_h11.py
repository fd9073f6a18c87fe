"""h11's connection with our rules for heads, a bound for bodies in tiny chunks, and answers that begin in one write."""

import h11

from service.http.chunk_turns import ChunkTurns
from service.http.head_rules import check_head, checked_fields, origin_form

MAX_TINY_CHUNKS = 4096
TINY_BYTES = 64
"""A chunk costs 15 µs to parse however small it is; bodies of honest clients come in kilobytes."""

LINES = b"application/x-ndjson"
LINES_ROUTE = b"/v1/embeddings/stream"
LINE_BYTES = 12
"""The shortest line that asks for anything, `{"input":""}`. A stream's body may come in a chunk for each line, and a
chunk as long as that pays for a tiny one: for the newline that some clients send by itself. On no other route: whoever
is refused there would have its chunks parsed all the same."""

CLOSE = b"connection: close\r\n"


class StrictConnection(h11.Connection):
    """The server's side of one connection.

    Args:
        max_head_bytes: limit of request line and headers together.
        turns: of the server, for bodies in chunks.

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
        self.num_sent_bytes = 0
        self.is_behind = False
        self.ends_early = False

    @property
    def is_in_chunks(self) -> bool:
        """A body in chunks has begun and not ended."""
        return self._is_chunked and self.their_state is h11.SEND_BODY

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the client broke HTTP, or our rules.
        """
        if self.their_state is h11.IDLE:
            check_head(self.trailing_data[0], self._max_head_bytes)
        elif self.is_in_chunks:
            self.is_behind = not self._turns.take()
            if self.is_behind:
                return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Request):
            return self._begun(event)
        if isinstance(event, h11.Data):
            self._count(len(event.data))
            if self._num_tiny > MAX_TINY_CHUNKS:
                raise h11.RemoteProtocolError("too many tiny chunks")
        return event

    def _begun(self, request: h11.Request) -> h11.Request:
        request = origin_form(request)
        fields = checked_fields(request)
        is_stream = request.target.partition(b"?")[0] == LINES_ROUTE
        self._num_tiny = 0
        self._is_chunked = b"transfer-encoding" in fields
        self._has_lines = is_stream and fields.get(b"content-type") == LINES
        return request

    def _count(self, num_bytes: int) -> None:
        """Count a chunk if it is tiny."""
        if not self._has_lines:
            self._num_tiny += num_bytes < TINY_BYTES
        else:
            self._num_tiny = max(0, self._num_tiny + (1 if num_bytes < LINE_BYTES else -1))

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        """The bytes of an event. An answer's head waits for the first of its body: one write, and one wake-up there."""
        parts = super().send_with_data_passthrough(event)
        if parts is None or isinstance(event, h11.Response):
            self._head = parts or []
            if isinstance(event, h11.Response) and event.status_code >= 400 and self.is_in_chunks and parts:
                self.ends_early = True
                parts.insert(-1, CLOSE)  # before the blank line; h11 does not know, for it would have us close at once
            return None if parts is None else []
        parts, self._head = [*self._head, *parts], []
        self.num_sent_bytes += sum(map(len, parts))
        return parts
