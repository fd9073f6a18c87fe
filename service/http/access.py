"""The outermost ring: gives each request an id, and at its end one log line, its counts, its times and its span."""

import logging
import time
from collections.abc import Callable

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send, WebSocketReceiveMessage

from service import metrics
from service.http.finished import Finished
from service.http.probes import PROBES
from service.http.request_id import choose_request_id
from service.http.trace_context import trace_context
from service.openapi.statuses import CODES
from service.stages import open_stages

logger = logging.getLogger("cenote.access")

OTHER = "other"
MODEL_ROUTE = "/v1/models/{id}"
ROUTES = frozenset(
    {
        "/", "/docs", "/health", "/livez", "/metrics", "/openapi-sdk.json", "/openapi.json", "/readyz",
        "/detokenize", "/tokenize", "/v1/embed", "/v1/embeddings", "/v1/image_embeds",
        "/v1/models", "/v2/embed",
    }
)  # fmt: skip
"""Paths that may be label values; anything else counts as `other`, so that no client can make series."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
HUNG_UP = 499
"""Of a request whose client went before it was answered; nobody reads it but the log."""
STATUSES = frozenset({200, HUNG_UP, *CODES})

for _route in (*ROUTES, MODEL_ROUTE, OTHER):
    metrics.REQUEST_SECONDS.labels(_route)
    for _status in (*STATUSES, OTHER):
        metrics.REQUESTS.labels(_route, str(_status))

Export = Callable[[Finished], str]
"""Sends a span and gives its trace id."""


class AccessLog:
    """An ASGI app around another.

    Args:
        app: the app.
        export: sends each request's span; None where nobody wants them.
    """

    def __init__(self, app: ASGIApp, export: Export | None = None) -> None:
        self._app = app
        self._export = export

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through; add headers to the answer's start."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        began_s, began_ns, stages = time.perf_counter(), time.time_ns(), open_stages()
        id_ = choose_request_id(list(scope["headers"]))
        scope["cenote_request_id"] = id_  # type: ignore[typeddict-unknown-key]  # ASGI lets servers add keys
        status, answering_s, is_gone = 500, 0.0, False

        async def receive_noting() -> HTTPReceiveMessage | WebSocketReceiveMessage:
            nonlocal is_gone
            message = await receive()
            is_gone = is_gone or (message["type"] == "http.disconnect" and not answering_s)
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal status, answering_s
            if message["type"] == "http.response.start":
                status, answering_s = message["status"], time.perf_counter()
                total_ms = f"{(answering_s - began_s) * 1e3:.1f}".encode()
                headers = [*message["headers"], (b"x-request-id", id_.encode()), (b"x-total-time", total_ms)]
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, receive_noting, send_with_headers)
        finally:
            ended_s = time.perf_counter()
            if answering_s:
                stages.intervals.append(("write", answering_s, ended_s))
            self._finish(
                scope["path"],
                Finished(
                    method=scope["method"] if scope["method"] in METHODS else OTHER,
                    route=route_of(scope["path"]),
                    status=HUNG_UP if is_gone else status,
                    began_s=began_s,
                    began_ns=began_ns,
                    total_s=ended_s - began_s,
                    request_id=id_,
                    trace=trace_context(list(scope["headers"])),
                    stages=stages,
                ),
            )

    def _finish(self, path: str, done: Finished) -> None:
        status = str(done.status if done.status in STATUSES else OTHER)
        metrics.REQUESTS.labels(done.route, status).inc()
        metrics.REQUEST_SECONDS.labels(done.route).observe(done.total_s)
        times_ms = done.stages.ms()
        for name, ms in times_ms.items():
            metrics.STAGE_SECONDS.labels(name).observe(ms / 1e3)
        level = logging.DEBUG if path in PROBES else logging.INFO
        if logger.isEnabledFor(level) or self._export is not None:
            trace_id = self._export(done) if self._export else done.trace.trace_id if done.trace else None
            logger.log(level, "request", extra=done.line(trace_id))


def route_of(path: str) -> str:
    """The label of a path: its route's template, or `other`."""
    return path if path in ROUTES else MODEL_ROUTE if path.startswith("/v1/models/") else OTHER
