"""While the service drains, every answer closes its connection, so that its client's next request goes elsewhere."""

from collections.abc import Callable

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

CLOSE = (b"connection", b"close")


class CloseWhileDraining:
    """An ASGI app around another. Knows no signal: it asks whether the end has begun."""

    def __init__(self, app: ASGIApp, is_draining: Callable[[], bool]) -> None:
        self._app = app
        self._is_draining = is_draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through; add the header to the starts of answers once the drain has begun."""

        async def send_and_close(message: Message) -> None:
            if message["type"] == "http.response.start" and self._is_draining() and CLOSE not in message["headers"]:
                message["headers"] = [*message["headers"], CLOSE]
            await send(message)

        await self._app(scope, receive, send_and_close if scope["type"] == ScopeType.HTTP else send)
