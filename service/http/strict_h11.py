"""h11's connection with our rules for heads, a bound for bodies in tiny chunks, and answers that begin in one write."""

import h11

from service.http.head_rules import check_head, checked_fields

MAX_TINY_CHUNKS = 4096
TINY_BYTES = 64
"""A chunk costs 15 µs to parse however small it is; bodies of honest clients come in kilobytes."""

LINES = b"application/x-ndjson"
LINE_BYTES = 12
"""The shortest line that asks for anything, `{"input":""}`. A body of lines may come in a chunk for each, and a chunk
as long as that pays for a tiny one: for the newline that some clients send by itself."""


class StrictConnection(h11.Connection):
    """The server's side of one connection.

    Args:
        max_head_bytes: limit of request line and headers together.

    Attributes:
        num_sent_bytes: bytes that were given to be written so far.
    """

    def __init__(self, max_head_bytes: int) -> None:
        super().__init__(h11.SERVER, max_head_bytes)
        self._max_head_bytes = max_head_bytes
        self._num_tiny = 0
        self._has_lines = False
        self._head: list[bytes] = []
        self.num_sent_bytes = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event.

        Raises:
            h11.RemoteProtocolError: the client broke HTTP, or our rules.
        """
        if self.their_state is h11.IDLE:
            check_head(self.trailing_data[0], self._max_head_bytes)
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._num_tiny = 0
            self._has_lines = checked_fields(event).get(b"content-type") == LINES
        elif isinstance(event, h11.Data):
            self._count(len(event.data))
            if self._num_tiny > MAX_TINY_CHUNKS:
                raise h11.RemoteProtocolError("too many tiny chunks")
        return event

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
            return None if parts is None else []
        parts, self._head = [*self._head, *parts], []
        self.num_sent_bytes += sum(map(len, parts))
        return parts
