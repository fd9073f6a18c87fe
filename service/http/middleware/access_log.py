"""The outermost middleware: gives each request an id, and at its end one log line, its counts, its times, its span.

The messages of every answer pass here: its head gets headers, and a large body is written in slices, each when the
client has taken those before.
"""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from functools import cache, partial

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from service import metrics
from service.accounting import DEFERRED, NOTED
from service.front.serving.serving import Serving
from service.http.middleware.tracing import FinishedRequest, Tracing, trace_context
from service.http.request import LINES, METHODS, PROBES, TENANT, RequestContext, open_request
from service.http.route_table import LABELS
from service.statuses import CODES

logger = logging.getLogger("cenote.access")

CLIENT_CLOSED_REQUEST = 499
"""nginx's status for a client that went before it was answered; it stands in the log and the metrics alone."""

CLOSE = (b"connection", b"close")

MAX_WRITE_BYTES = 5 << 15
"""Of one write: what the socket does not take of it is copied, for each client that is slow. A slice of a large answer
is 128 KiB and at most a vector more."""

OTHER = "other"
OPEN_ENDED = ("/v1/models/{id}", "/openai/deployments/{deployment}/embeddings")
"""Routes with a name in their path."""

STATUSES = frozenset({200, 304, CLIENT_CLOSED_REQUEST, *CODES})

_requests = cache(metrics.REQUESTS.labels)


def _open_ended(path: str) -> str:
    """The route that a path with a name in it is of; `other` of any other."""
    found = (route for route in OPEN_ENDED if path.startswith(route.partition("{")[0]))
    return next((route for route in found if path.endswith(route.partition("}")[2])), OTHER)


@dataclass(slots=True)
class LoggedRequest:
    """A request whose messages are timed as they pass; its status is 500 until there is an answer."""

    scope: Scope
    server_send: Send
    serving: Serving
    context: RequestContext
    status: int = 500
    began_s: float = field(default_factory=time.perf_counter)
    began_ns: int = field(default_factory=time.time_ns)
    answering_s: float = 0.0

    async def send(self, message: Message) -> None:
        """Send a message; the answer's head with the id, the time so far, and the end of the connection in a drain."""
        if message["type"] == "http.response.start":
            self.answering_s = time.perf_counter()
            self.status = message["status"]
            total_ms = (self.answering_s - self.began_s) * 1e3
            added = [(b"x-request-id", self.context.id.encode()), (b"x-total-time", b"%.1f" % total_ms)]
            if self.serving.is_draining and CLOSE not in message["headers"]:
                added.append(CLOSE)  # the client's next request goes to another replica
            message["headers"] = [*message["headers"], *added]
        elif message["type"] == "http.response.body" and len(body := message["body"]) > MAX_WRITE_BYTES:
            last = (len(body) - 1) // MAX_WRITE_BYTES * MAX_WRITE_BYTES
            for start in range(0, last, MAX_WRITE_BYTES):
                part = body[start : start + MAX_WRITE_BYTES]
                await self.server_send({"type": "http.response.body", "body": part, "more_body": True})
            message = {**message, "body": body[last:]}
        await self.server_send(message)

    def account(self, ended_s: float, tracing: Tracing | None) -> None:
        """Count the request, send its span if there is a `tracing`, and log it, all at the time that it ended.

        Its line never has a body, a query, a key or a vector.
        """
        scope, context = self.scope, self.context
        fields, stages = context.log_fields, context.stages
        if self.answering_s and LINES not in fields:
            stages.intervals.append(("write", self.answering_s, ended_s))
        path, method, total_s = scope["path"], str(scope.get("method")), ended_s - self.began_s
        # A path that is no route's is `other`, so that no client can make series.
        route = LABELS.get(path) or _open_ended(path)
        method = method if method in METHODS else OTHER
        _requests(route, str(self.status if self.status in STATUSES else OTHER)).inc()
        metrics.REQUEST_SECONDS.observe(route, total_s)
        if isinstance(tenant := fields.get(TENANT), str):
            is_error = self.status >= 400 and self.status != CLIENT_CLOSED_REQUEST
            num_inputs, num_tokens = context.num_inputs, context.counts.num_tokens
            metrics.TENANTS.count(tenant, requests=1, inputs=num_inputs, tokens=num_tokens, errors=is_error)
        if context.num_inputs:
            metrics.INPUTS.observe(context.num_inputs)
            if context.counts.num_precomputed or context.counts.num_truncated:
                context.counts.observe()
        stages_ms = stages.ms()
        for name, ms in stages_ms.items():
            metrics.STAGE_SECONDS.observe(name, ms / 1e3)
        sent = context.headers.get(b"traceparent")
        trace = None if sent is None else trace_context(sent)
        trace_id = trace.trace_id if trace else ""
        if tracing is not None:
            times = (self.began_s, self.began_ns, total_s)
            trace_id = tracing.export(FinishedRequest(method, route, self.status, *times, context.id, trace, stages))
        level = logging.DEBUG if path in PROBES else logging.INFO
        if logger.isEnabledFor(level):
            # `logger.log` would look for its caller's file and line, which no line shows, for every request.
            record = logging.LogRecord(logger.name, level, "", 0, "request", (), None)
            record.created = self.began_ns / 1e9 + total_s
            record.msecs = record.created % 1 * 1e3
            shown = record.__dict__
            shown.update(method=method, route=route, status=self.status, ms=round(total_s * 1e3, 1))
            shown["request_id"] = context.id
            shown.update({f"{name}_ms": round(ms, 1) for name, ms in stages_ms.items()})
            shown.update(fields)
            if trace_id:
                shown["trace_id"] = trace_id
            logger.handle(record)


class AccessLog:
    """ASGI middleware.

    Args:
        tracing: sends each request's span; None without.
    """

    def __init__(self, app: ASGIApp, serving: Serving, tracing: Tracing | None = None) -> None:
        self._app = app
        self._serving = serving
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through; add headers to the answer's start, and log the request when it is over."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request = LoggedRequest(scope, send, self._serving, open_request(scope))
        NOTED.set(request.context.stages)
        try:
            await self._app(scope, receive, request.send)
        except asyncio.CancelledError:
            if not request.answering_s:
                request.status = CLIENT_CLOSED_REQUEST
            raise
        finally:
            DEFERRED.add(partial(request.account, time.perf_counter(), self._tracing))
