"""The outermost ring: gives each request an id, and at its end one log line, its counts, its times and its span."""

import logging
from collections.abc import Callable
from functools import cache

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from service import metrics
from service.http.exchange import HUNG_UP, TENANT, Exchange
from service.http.finished import Finished
from service.http.probes import PROBES
from service.http.tenant_counts import TENANTS
from service.openapi.statuses import CODES
from service.playground.files import FILES, PREFIX

logger = logging.getLogger("cenote.access")

OTHER = "other"
LEAST_ERROR = 400
MODEL_ROUTE = "/v1/models/{id}"
PAGE_ROUTE = f"{PREFIX}{{file}}"
ROUTES = frozenset(
    {
        "/", "/docs", "/health", "/livez", "/metrics", "/openapi-sdk.json", "/openapi.json", "/readyz",
        "/detokenize", "/tokenize", "/v1/check-api-key", "/v1/detokenize", "/v1/tokenize",
        "/v1/embed", "/v1/embeddings", "/v1/embeddings/stream", "/v1/image_embeds",
        "/v1/models", "/v2/embed",
    }
)  # fmt: skip
"""Paths that may be label values; anything else counts as `other`, so that no client can make series."""

STATUSES = frozenset({200, 304, HUNG_UP, *CODES})

_requests = cache(metrics.REQUESTS.labels)
_request_seconds = cache(metrics.REQUEST_SECONDS.labels)
_stage_seconds = cache(metrics.STAGE_SECONDS.labels)

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
        exchange = Exchange(scope, receive, send)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            self._finish(scope["path"], exchange.finished(route_of(scope["path"]), OTHER))

    def _finish(self, path: str, done: Finished) -> None:
        status = str(done.status if done.status in STATUSES else OTHER)
        _requests(done.route, status).inc()
        _request_seconds(done.route).observe(done.total_s)
        if isinstance(tenant := done.told.get(TENANT), str):
            TENANTS.ended(tenant, is_error=done.status >= LEAST_ERROR and done.status != HUNG_UP)
        times_ms = done.stages.ms()
        for name, ms in times_ms.items():
            _stage_seconds(name).observe(ms / 1e3)
        level = logging.DEBUG if path in PROBES else logging.INFO
        if logger.isEnabledFor(level) or self._export is not None:
            trace_id = self._export(done) if self._export else done.trace.trace_id if done.trace else None
            logger.log(level, "request", extra=done.line(times_ms, trace_id))


def route_of(path: str) -> str:
    """The label of a path: its route's template, or `other`."""
    if path in ROUTES:
        return path
    return PAGE_ROUTE if path in FILES else MODEL_ROUTE if path.startswith("/v1/models/") else OTHER
