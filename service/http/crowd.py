"""What is answered on a connection above the limit: the probes, and to everybody else that it is too many.

Source: shared/reference/security-reliability.md section 4 (a plain limit would also fail the probes).
"""

from litestar.types import ASGIApp, Receive, Scope, Send

from service import metrics
from service.errors import UnavailableError
from service.http.errors import error_bytes
from service.http.probes import PROBES
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a probe pass; refuse anything else, and end its connection."""
        if scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        error = crowded()
        metrics.REFUSED_CONNECTIONS.labels(error.code).inc()
        id_ = choose_request_id(list(scope["headers"]))
        body = error_bytes(error, scope["path"], id_)
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "x-request-id": id_,
            "retry-after": str(RETRY_S),
            "connection": "close",
        }
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 503, "headers": encoded})
        await send({"type": "http.response.body", "body": body, "more_body": False})
