"""HEAD, answered as GET without the body, on every route that takes GET.

A ring around the app and not a handler per route: so the two can never differ.

Source: RFC 9110 section 9.3.2.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

WITH_ALLOW = (204, 405)
"""Statuses of answers that name methods: to OPTIONS, and to a method that a route does not take."""


class HeadAsGet:
    """An ASGI app around another."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask for a GET where HEAD came, and keep its body back; its headers, the length too, go out as they are."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        asked: Scope = {**scope, "method": "GET"} if is_head else scope

        async def send_as_asked(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in WITH_ALLOW:
                message = {**message, "headers": [_with_head(*header) for header in message["headers"]]}
            elif is_head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app(asked, receive, send_as_asked)


def _with_head(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """An `Allow` that names GET names HEAD too."""
    if name.lower() != b"allow" or b"GET" not in value or b"HEAD" in value:
        return name, value
    return name, value + b", HEAD"
