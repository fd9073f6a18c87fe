"""The outermost ring: gives each request an id, and at its end one log line, one counter and the total time."""

import logging
import time

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from service import metrics
from service.http.request_id import choose_request_id

logger = logging.getLogger("cenote.access")

ROUTES = frozenset(
    {
        "/", "/docs", "/health", "/livez", "/metrics", "/openapi-sdk.json", "/openapi.json", "/readyz",
        "/detokenize", "/tokenize", "/v1/embed", "/v1/embeddings", "/v1/image_embeds",
        "/v1/models", "/v2/embed",
    }
)  # fmt: skip
"""Paths that may be label values; anything else counts as `other`, so that no client can make series."""

PROBES = frozenset({"/livez", "/readyz", "/health", "/metrics"})


class AccessLog:
    """An ASGI app around another."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through; add headers to the answer's start."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        began_s = time.perf_counter()
        id_ = choose_request_id(list(scope["headers"]))
        scope["cenote_request_id"] = id_  # type: ignore[typeddict-unknown-key]  # ASGI lets servers add keys
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                total_ms = f"{(time.perf_counter() - began_s) * 1e3:.1f}".encode()
                headers = [*message["headers"], (b"x-request-id", id_.encode()), (b"x-total-time", total_ms)]
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            _observe(scope["path"], str(scope["method"]), status, time.perf_counter() - began_s, id_)


def _observe(path: str, method: str, status: int, total_s: float, id_: str) -> None:
    route = path if path in ROUTES else "/v1/models/{id}" if path.startswith("/v1/models/") else "other"
    metrics.REQUESTS.labels(route, str(status)).inc()
    metrics.REQUEST_SECONDS.labels(route).observe(total_s)
    level = logging.DEBUG if path in PROBES else logging.INFO
    extra = {"method": method, "route": route, "status": status, "ms": round(total_s * 1e3, 1), "request_id": id_}
    logger.log(level, "request", extra=extra)
