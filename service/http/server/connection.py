"""One HTTP/1.1 connection with time limits: uvicorn's own never gives up on a slow client.

A client that breaks HTTP gets a short answer. Its connection ends then, and when it takes too long over a head, over
the rest of a body that is not read, or over its answer. Bodies that are read have their time limit in `body.py`.
A client that goes before it has its answer has its request cancelled: unwinding gives back the request's places in the
queue, its pixels, and what the engine has not begun. One that has ended its side alone has its answer (`hang_up.py`).
Above the limit of connections only the probes are answered (`places.py`).
"""

import asyncio
import socket  # noqa: TID251  # of our own server
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import h11
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.flow_control import CLOSE_HEADER, HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from schemas.errors import ErrorCode
from service import metrics
from service.errors import InputError, ServiceError, UnavailableError
from service.http.errors import error_answer, refuse, retry_headers
from service.http.middleware.allow_lists import AllowedOrigins
from service.http.request import PROBES, WHOLE_BODY, open_request
from service.http.server.hang_up import HangUp
from service.http.server.http1 import Http1
from service.http.server.pacing import ChunkTurns, ConnectionLimits, SlowReader, num_in_kernel
from service.http.server.peers import Arrival
from service.http.server.places import Line, Places

SPARE_HEAD_TIMEOUT_S = 2.0
RETRY_S = 2
"""After which a client above the limit of connections may come back."""

MAX_UNSENT_BYTES = 1 << 17
"""Of one connection, in the system's buffer; its own bound is 4 MB, for each of a thousand slow clients."""

RESET = struct.pack("ii", 1, 0)
"""`SO_LINGER` of zero: closing drops what was not sent."""

REFUSALS: dict[int, tuple[ErrorCode, str]] = {
    400: ("invalid_request", "the request is not HTTP/1.1 as this server reads it"),
    414: ("target_too_long", "the request's target is longer than this server takes"),
    431: ("head_too_large", "the request's headers are more or larger than this server takes"),
}
"""Error by status for a head that is refused; any other status counts as 400."""

Phase = Literal["idle", "head", "drain", "write"]


class Flow(FlowControl):
    """uvicorn's flow control, with one more reason not to read, `is_held`: what was read before is not parsed yet."""

    is_held = False

    def resume_reading(self) -> None:
        """Read again, unless it is held."""
        if not self.is_held:
            super().resume_reading()


class Connection(H11Protocol):
    """uvicorn's h11 protocol with timers, a cap, stricter heads, and refusals in our own words.

    Args:
        limits: of one connection, and of all.
        turns: the server's, for bodies in chunks.
        places: the server's, of which it needs one.
        arrival_of: says of an address whose a connection is, and whether it may have a place.
    """

    conn: Http1  # type: ignore[assignment]  # which has all of h11's that uvicorn calls
    flow: Flow

    def __init__(
        self,
        limits: ConnectionLimits,
        turns: ChunkTurns,
        places: Places,
        arrival_of: Callable[[str], Arrival],
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = Http1(limits.max_head_bytes, turns)
        self._limits = limits
        self._turns = turns
        self._places = places
        self._arrival_of = arrival_of
        self._line: Line = Line()
        self._hang_up = HangUp(self, self.conn)
        self._head_timeout_s = limits.head_timeout_s
        self._phase: Phase = "idle"
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._ignores_input = False
        self._served: ASGIApp = self.app
        self._answering: asyncio.Task[None] | None = None
        self.app = self._answer  # uvicorn makes a task of it for each request

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a place; with a spare one answer only probes, with none nothing."""
        super().connection_made(transport)
        self.flow = Flow(transport)  # pyright: ignore[reportIncompatibleVariableOverride]  # set here alone
        if sys.platform == "linux":  # bounds what cannot be sent yet, not what is on its way to the client: tcp(7)
            sock = transport.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)
        place = self._places.take(self, self._arrival_of(self.client[0] if self.client else ""))
        if place is None:
            self._refuse(too_many_connections(), 503)
            return
        self._line = place.line
        if place.is_spare:
            self._served = ProbesOnly(self._served)
            self._head_timeout_s = min(self._head_timeout_s, SPARE_HEAD_TIMEOUT_S)
        self._watch_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the place and the timers, and cancel a request that is not answered yet."""
        self._places.leave(self)
        for timer in (self._reading, self._writing, self._hang_up.asking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn leaves it when the connection broke
        self._cancel_request()
        self.app = self._served  # `_answer` is of this object, which would keep itself

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app, in a request's own task, until its client has disconnected."""
        cycle, task = self.cycle, asyncio.current_task()
        assert task is not None
        self._answering = task
        if cycle.disconnected:  # before this task began
            self._cancel_request()
        if not cycle.more_body:
            scope[WHOLE_BODY] = True  # type: ignore[literal-required]  # ASGI lets servers add keys
        try:
            await self._served(scope, receive, partial(self._send, cycle))
        except asyncio.CancelledError:
            if not cycle.disconnected or task.uncancel():
                raise  # cancelled from outside too: the server is stopping

    async def _send(self, cycle: RequestResponseCycle, message: Message) -> None:
        """Send as uvicorn does, but for an answer's head, whose headers are checked together."""
        if message["type"] != "http.response.start" or cycle.response_started or cycle.flow.write_paused:
            await cycle.send(message)  # type: ignore[arg-type]  # litestar's name for the same messages
        elif not cycle.disconnected:
            cycle.response_started, cycle.waiting_for_100_continue = True, False
            headers = [*cycle.default_headers, *message["headers"]]
            if CLOSE_HEADER in cycle.scope["headers"] and CLOSE_HEADER not in headers:
                headers.append(CLOSE_HEADER)
            self.conn.begin_answer(message["status"], headers)

    def _cancel_request(self) -> None:
        """Cancel the task of a request that is not answered yet, once: `_answer` takes one cancellation back."""
        if self._answering is not None and not self.cycle.response_complete:
            self._answering.cancel()
            self._answering = None

    @property
    def may_make_way(self) -> bool:
        """True if its client has been sent all that it was answered."""
        return not self.transport.get_write_buffer_size()

    def make_way(self) -> None:
        """End it, which waits for its client, for one that has just come."""
        metrics.SLOW_CONNECTIONS.labels("waiting").inc()
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's own, which uvicorn narrows
        """Stay while an answer is owed: True keeps the connection."""
        return self._hang_up.heard()

    def data_received(self, data: bytes) -> None:
        """Read, and start or stop the timer; nothing more is read from a client that was refused."""
        if not self._ignores_input:
            super().data_received(data)
            self._watch_reading()

    def handle_events(self) -> None:
        """Parse what has come; once this turn's chunks are used up, read nothing and go on in a later one."""
        super().handle_events()
        if self.conn.is_behind:
            self._turns.wait(self._go_on)
        if self.conn.is_behind != self.flow.is_held:
            self._hold(is_held=self.conn.is_behind)
        if self.flow.read_paused and not self.cycle.more_body and not self.conn.came:
            self.flow.resume_reading()  # all of a large body has come: whether its client goes is still to be heard

    def _go_on(self) -> None:
        if not self._ignores_input and not self.transport.is_closing():
            self.handle_events()
            if self._hang_up.is_heard:
                self._hang_up.settle()
            self._watch_reading()

    def _hold(self, *, is_held: bool) -> None:
        if is_held:
            self.flow.pause_reading()
        self.flow.is_held = is_held
        if not is_held and len(self.cycle.body) <= HIGH_WATER_LIMIT:  # else the app's next wish for more resumes it
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        """Watch what is left: the rest of the body, a next request, or an answer that is not read."""
        super().on_response_complete()
        if (self.conn.ends_early or self.conn.is_in_chunks) and not self.transport.is_closing():
            self._end_early()
        if self._hang_up.is_heard:
            self._hang_up.settle()
        self._watch_reading()
        if self.transport.get_write_buffer_size():
            self._watch_writing()

    def _end_early(self) -> None:
        """Receive the rest of a body in chunks unparsed for a while: closing at once could lose the answer.

        Source: RFC 9112 section 9.6.
        """
        self._ignores_input = True
        self._hold(is_held=False)
        self.flow.resume_reading()
        self._unset_keepalive_if_required()  # the drain has a time of its own
        self.transport.write_eof()

    def pause_writing(self) -> None:
        """The client reads its answer more slowly than it is written."""
        super().pause_writing()
        self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what h11 or `Http1` refused; uvicorn calls this while it handles that error."""
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        status = hint if hint in REFUSALS else 400
        code, message = REFUSALS[status]
        self._refuse(InputError(code, message), status)

    def _refuse(self, error: ServiceError, status: int) -> None:
        """Answer if nothing has been answered yet, and end the connection either way."""
        metrics.REFUSED_CONNECTIONS.labels(error.code).inc()
        if self.cycle is not None and not self.cycle.response_complete:  # it is reading the body that broke
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._cancel_request()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            scope: dict[str, Any] = {"headers": [], "path": ""}  # there is no request that anything is known of
            id_ = open_request(scope).id
            body = error_answer(error, scope)
            headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
            headers += [("x-request-id", id_), ("connection", "close")]
            headers += [*retry_headers(error).items()] if isinstance(error, UnavailableError) else []
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._watch_writing()

    def _watch_reading(self) -> None:
        """Time what the client has to send now; an idle connection between requests has uvicorn's timer."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._line.pop(self, None)
        elif self not in self._line:
            self._line[self] = None
        phase: Phase = "idle"
        if self.transport.is_closing():
            pass
        elif self._ignores_input:
            phase = "drain"
        elif self.conn.their_state is h11.IDLE:
            phase = "head" if self.cycle is None or self.conn.came else "idle"
        elif self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            phase = "drain"
        if phase == self._phase:
            return
        self._phase = phase
        if self._reading is not None:
            self._reading.cancel()
        timeout_s = self._head_timeout_s if phase == "head" else self._limits.drain_timeout_s
        self._reading = self.loop.call_later(timeout_s, self._give_up, phase) if phase != "idle" else None

    def _give_up(self, phase: Phase) -> None:
        metrics.SLOW_CONNECTIONS.labels(phase).inc()
        if phase == "write":  # else the kernel keeps megabytes that are not read, and offers them for minutes
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()

    def _watch_writing(self) -> None:
        if self._writing is None:
            self._check_writing(SlowReader(self._limits.write_timeout_s, self._limits.min_bytes_per_s))

    def _check_writing(self, reader: SlowReader) -> None:
        """Go on waiting while the client reads its answer at the least rate; more may have been written since."""
        self._writing = None
        num_left = self.transport.get_write_buffer_size()
        if not num_left:
            return
        num_sent = self.conn.num_sent_bytes
        num_read = num_sent - num_left - num_in_kernel(self.transport.get_extra_info("socket"))
        if wait_s := reader.wait_s(self.loop.time(), num_read, num_sent):
            self._writing = self.loop.call_later(wait_s, self._check_writing, reader)
        else:
            self._give_up("write")


def too_many_connections() -> UnavailableError:
    """The refusal above the limit."""
    message = "the server has as many connections as it takes; come back, or use fewer and keep them open"
    return UnavailableError("too_many_connections", message, retry_after_s=RETRY_S)


class ProbesOnly:
    """ASGI middleware of a connection above the limit: its one request is answered if it is a probe's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        inner: Any = getattr(app, "app", app)  # uvicorn's middleware for proxies' headers stands around ours
        self._refusing: ASGIApp = inner.around(_refuse_many) if isinstance(inner, AllowedOrigins) else _refuse_many

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a probe on, or refuse the request; its connection ends either way."""

        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start" and CLOSE_HEADER not in message["headers"]:
                message["headers"] = [*message["headers"], CLOSE_HEADER]
            await send(message)

        await (self._app if scope["path"] in PROBES else self._refusing)(scope, receive, send_last)


async def _refuse_many(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == ScopeType.HTTP:
        error = too_many_connections()
        metrics.REFUSED_CONNECTIONS.labels(error.code).inc()
        await refuse(scope, send, error, retry_headers(error) | {"x-request-id": open_request(scope).id})
