"""What is answered on a connection above the limit: the probes, and to everybody else that it is too many.

Source: shared/reference/security-reliability.md section 4 (a plain limit would also fail the probes).
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from service import metrics
from service.errors import UnavailableError
from service.http.errors import retry_headers
from service.http.origins import AllowedOrigins
from service.http.probes import PROBES
from service.http.refusal import refuse
from service.http.request_id import choose_request_id

RETRY_S = 2


def crowded() -> UnavailableError:
    """The refusal."""
    message = "the server has as many connections as it takes; come back, or use fewer and keep them open"
    return UnavailableError("too_many_connections", message, retry_after_s=RETRY_S)


class ProbesOnly:
    """An ASGI app around another."""

    def __init__(self, app: object) -> None:
        self._app: ASGIApp = app  # type: ignore[assignment]  # uvicorn has a type of its own for the same thing
        inner = getattr(app, "app", app)  # uvicorn's ring for proxies' headers stands around ours
        self._refusing: ASGIApp = inner.around(_refuse) if isinstance(inner, AllowedOrigins) else _refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a probe pass; refuse anything else, and end its connection."""
        if scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        await self._refusing(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == ScopeType.HTTP:
        error = crowded()
        metrics.REFUSED_CONNECTIONS.labels(error.code).inc()
        id_ = choose_request_id(list(scope["headers"]))
        scope["cenote_request_id"] = id_  # type: ignore[typeddict-unknown-key]  # ASGI lets servers add keys
        await refuse(scope, send, error, retry_headers(error) | {"connection": "close", "x-request-id": id_})
