"""Answers to a connection above the limit: probes, so that orchestrators do not kill a busy server, once each."""

from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import CLOSE_HEADER

from service import metrics
from service.errors import UnavailableError
from service.http.errors import refuse, retry_headers
from service.http.middleware.allow_lists import AllowedOrigins
from service.http.request import PROBES, open_request

RETRY_S = 2


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
