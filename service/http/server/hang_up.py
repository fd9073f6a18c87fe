"""A client that has ended its side of a connection: it waits for its answer, or has gone.

TCP says the same of both. A client whose request has not come whole has gone. Any other is sent an interim answer after
a moment, which clients pass over; where nobody is there any more, its system answers with a reset, and the next one
fails.

Source: RFC 9110 section 15.2; RFC 9112 section 9.6; RFC 2518 section 10.1.
"""

from asyncio import TimerHandle

from uvicorn.protocols.http.h11_impl import H11Protocol

from service.http.server.http1 import Http1

PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"

ASK_S = 0.1
"""A quick answer comes before it, so that its client sees nothing else."""


class HangUp:
    """Handling of the end of a client's side.

    Args:
        connection: whose it is.
        reading: what has come of its requests.

    Attributes:
        is_heard: the client has ended its side.
        asking: the timer of the next interim answer.
    """

    __slots__ = ("_connection", "_reading", "asking", "is_heard")

    def __init__(self, connection: H11Protocol, reading: Http1) -> None:
        self._connection, self._reading = connection, reading
        self.is_heard = False
        self.asking: TimerHandle | None = None

    def heard(self) -> bool:
        """The client has ended its side; True where it has an answer to come."""
        self.is_heard = True
        if not self._is_owed():
            return False
        if self.asking is None:
            self.asking = self._connection.loop.call_later(ASK_S, self._ask, ASK_S)
        return True

    def settle(self) -> None:
        """End the connection once all that came is answered, or can never come whole."""
        if not self._is_owed():
            self._connection.transport.close()

    def _is_owed(self) -> bool:
        cycle = self._connection.cycle
        is_under_way = cycle is not None and not cycle.response_complete
        return is_under_way and (not cycle.more_body or self._reading.is_behind)

    def _ask(self, next_s: float) -> None:
        connection = self._connection
        if connection.cycle.scope["http_version"] == "1.0":  # which has no interim answers
            connection.transport.abort()
            return
        if not connection.cycle.response_started:
            connection.transport.write(PROCESSING)
        self.asking = connection.loop.call_later(next_s, self._ask, 2 * next_s)
