"""An ingress takes no request before a replica has answered its known question: Serve waits for the app's start.

So a new deployment takes over from the old one without a moment of "the model is loading".
"""

import asyncio

from litestar.types import ASGIApp, LifeSpanSendMessage, Message, Receive, Scope, Send

from service.front.serving import Serving

TICK_S = 0.05


class ReadyFirst:
    """An ASGI app around another, that says that it has started when its service is ready, or never can be."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass requests through; hold the end of the start back."""

        async def say(message: Message | LifeSpanSendMessage) -> None:
            if message["type"] == "lifespan.startup.complete":
                while self._serving.health().status not in ("ok", "failed"):
                    await asyncio.sleep(TICK_S)
            await send(message)  # type: ignore[arg-type]  # of whichever scope it is

        await self._app(scope, receive, say)
