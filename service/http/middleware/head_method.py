"""Answers HEAD as GET without the body, on every route that takes GET.

Middleware and not a handler for each route, so that the two can never differ.

Source: RFC 9110 section 9.3.2.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from service.http.errors import with_head


class HeadAsGet:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the app for a GET where HEAD came, and drop the body; headers, the length too, are sent as they are."""
        if scope["type"] != ScopeType.HTTP or scope["method"] not in ("HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
        elif scope["method"] == "HEAD":

            async def send_without_body(message: Message) -> None:
                await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

            await self._app({**scope, "method": "GET"}, receive, send_without_body)
        else:

            async def send_with_head(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [_with_head(name, value) for name, value in message["headers"]]
                await send(message)

            await self._app(scope, receive, send_with_head)


def _with_head(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return name, with_head(value.decode()).encode() if name.lower() == b"allow" else value
