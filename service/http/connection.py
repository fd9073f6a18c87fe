"""One HTTP/1.1 connection with an end to its patience: uvicorn's own never gives up on a slow client.

In: bytes. Out: requests to the app; or a short answer and the end, when the client breaks HTTP or takes too long over
a head, over a body that nobody reads, or over its answer. Bodies that are read have their time in `body.py`.
Knows no route but the probes, which are answered also when there are too many connections.
"""

import asyncio
import socket  # noqa: TID251  # of our own server
import struct
import sys
from dataclasses import dataclass
from typing import Any, Literal

import h11
from uvicorn import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from schemas.errors import ErrorCode
from service import metrics
from service.errors import InputError, ServiceError, UnavailableError
from service.http.chunk_turns import ChunkTurns
from service.http.crowd import ProbesOnly, crowded
from service.http.errors import error_answer, retry_headers
from service.http.flow import Flow
from service.http.request_id import new_request_id
from service.http.strict_h11 import StrictConnection
from service.http.taking import Taking, keep_little_unsent, num_in_kernel

NUM_SPARE = 64
"""Connections above the limit whose head is read, in case it is a probe's; those above are answered unread."""

SPARE_HEAD_TIMEOUT_S = 2.0

RESET = struct.pack("ii", 1, 0)
"""`SO_LINGER` for no time at all: closing drops what was not sent."""

REFUSALS: dict[int, tuple[ErrorCode, str]] = {
    400: ("invalid_request", "the request is not HTTP/1.1 as this server reads it"),
    414: ("target_too_long", "the request's target is longer than this server takes"),
    431: ("head_too_large", "the request's headers are more or larger than this server takes"),
}
"""What is told of a head, by status; any other status counts as 400."""

Phase = Literal["head", "drain", "write"]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of one connection, and of all.

    Attributes:
        max_connections: those served at once.
        max_head_bytes: request line and headers together.
        head_timeout_s: from the first byte of a head, or from the connection, to its last.
        drain_timeout_s: to send the rest of a body that nobody reads.
        write_timeout_s: to take anything of an answer at first.
        min_bytes_per_s: to take of it on average.
    """

    max_connections: int
    max_head_bytes: int
    head_timeout_s: float
    drain_timeout_s: float
    write_timeout_s: float
    min_bytes_per_s: int


class Connection(H11Protocol):
    """uvicorn's h11 protocol with timers, a cap, stricter heads, and refusals in our own words.

    Args:
        limits: of one connection, and of all.
        turns: of the server, for bodies in chunks.
    """

    flow: Flow

    def __init__(
        self,
        limits: ConnectionLimits,
        turns: ChunkTurns,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn: StrictConnection = StrictConnection(limits.max_head_bytes, turns)
        self._limits = limits
        self._turns = turns
        self._head_timeout_s = limits.head_timeout_s
        self._phase: Phase | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._is_deaf = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a place among the connections; without one, hear whether it is a probe, or not even that."""
        super().connection_made(transport)
        self.flow = Flow(transport)  # pyright: ignore[reportIncompatibleVariableOverride]  # set here alone
        keep_little_unsent(transport.get_extra_info("socket"))
        num_over = len(self.connections) - self._limits.max_connections
        if num_over > NUM_SPARE:
            self._refuse(crowded(), 503)
            return
        if num_over > 0:
            self.app = ProbesOnly(self.app)
            self._head_timeout_s = min(self._head_timeout_s, SPARE_HEAD_TIMEOUT_S)
        self._watch_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn leaves it when the connection broke

    def data_received(self, data: bytes) -> None:
        """Read, and start or stop the clock; of who was refused nothing more is read."""
        if not self._is_deaf:
            super().data_received(data)
            self._watch_reading()

    def handle_events(self) -> None:
        """Take what has come; chunks above this turn's number in another one, and until then none are received."""
        super().handle_events()
        if self.conn.is_behind:
            self._turns.wait(self._go_on)
        if self.conn.is_behind != self.flow.is_held:
            self._hold(is_held=self.conn.is_behind)

    def _go_on(self) -> None:
        if not self._is_deaf and not self.transport.is_closing():
            self.handle_events()
            self._watch_reading()

    def _hold(self, *, is_held: bool) -> None:
        if is_held:
            self.flow.pause_reading()
        self.flow.is_held = is_held
        if not is_held and len(self.cycle.body) <= HIGH_WATER_LIMIT:  # else the app's next wish for more resumes it
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        """Answered: what is left is the rest of the body, a next request, or an answer that is not taken."""
        super().on_response_complete()
        if (self.conn.ends_early or self.conn.is_in_chunks) and not self.transport.is_closing():
            self._end_early()
        self._watch_reading()
        self._watch_writing()

    def _end_early(self) -> None:
        """The rest of a body in chunks is received unread for a while: closing at once could take the answer with it.

        Source: RFC 9112 section 9.6.
        """
        self._is_deaf = True
        self._hold(is_held=False)
        self.flow.resume_reading()
        self._unset_keepalive_if_required()  # the drain has a time of its own
        self.transport.write_eof()

    def pause_writing(self) -> None:
        """The client takes its answer more slowly than it is written."""
        super().pause_writing()
        self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what h11 or a rule of ours refused; uvicorn calls this while it handles that error."""
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        status = hint if hint in REFUSALS else 400
        code, message = REFUSALS[status]
        self._refuse(InputError(code, message), status)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """There are no sockets here: the request is answered as any other."""
        raise AssertionError("the server is configured without websockets")

    def _refuse(self, error: ServiceError, status: int) -> None:
        """Answer if nothing has been answered yet, and end the connection either way."""
        metrics.REFUSED_CONNECTIONS.labels(error.code).inc()
        if self.cycle is not None and not self.cycle.response_complete:  # it is reading the body that broke
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            id_ = new_request_id()
            body = error_answer(error, id_, "")
            headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
            headers += [("x-request-id", id_), ("connection", "close")]
            headers += [*retry_headers(error).items()] if isinstance(error, UnavailableError) else []
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._watch_writing()

    def _watch_reading(self) -> None:
        phase = None if self.transport.is_closing() else self._reading_phase()
        if phase == self._phase:
            return
        self._phase = phase
        if self._reading is not None:
            self._reading.cancel()
        timeout_s = self._head_timeout_s if phase == "head" else self._limits.drain_timeout_s
        self._reading = self.loop.call_later(timeout_s, self._give_up, phase) if phase else None

    def _reading_phase(self) -> Phase | None:
        """What the client owes us now; an idle connection between requests owes nothing, and has uvicorn's timer."""
        if self._is_deaf:
            return "drain"
        if self.conn.their_state is h11.IDLE:
            return "head" if self.cycle is None or self.conn.trailing_data[0] else None
        is_answered = self.cycle is not None and self.cycle.response_complete
        return "drain" if is_answered and self.conn.their_state is h11.SEND_BODY else None

    def _give_up(self, phase: Phase) -> None:
        metrics.SLOW_CONNECTIONS.labels(phase).inc()
        if phase == "write":  # else the kernel keeps the megabytes that nobody takes, and offers them for minutes
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()

    def _watch_writing(self) -> None:
        if self._writing is None and self.transport.get_write_buffer_size():
            self._check_writing(Taking(self._limits.write_timeout_s, self._limits.min_bytes_per_s))

    def _check_writing(self, taking: Taking) -> None:
        """Go on waiting while the client takes its answer at the least rate; more of it may have been written since."""
        self._writing = None
        num_left = self.transport.get_write_buffer_size()
        if not num_left:
            return
        num_sent = self.conn.num_sent_bytes
        num_taken = num_sent - num_left - num_in_kernel(self.transport.get_extra_info("socket"))
        if wait_s := taking.wait_s(self.loop.time(), num_taken, num_sent):
            self._writing = self.loop.call_later(wait_s, self._check_writing, taking)
        else:
            self._give_up("write")
