"""HEAD, answered as GET without the body, on every route that takes GET.

A ring around the app and not a handler per route: so the two can never differ.

Source: RFC 9110 section 9.3.2.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """An ASGI app around another."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask for a GET where HEAD came, and keep its body back; its headers, the length too, go out as they are."""
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        asked: Scope = {**scope, "method": "GET"}

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app(asked, receive, send_without_body)
