"""ASGI wrappers around the ingress's app: a start that waits for the engine, and one `x-request-id` in an answer."""

import asyncio

from litestar.types import ASGIApp, LifeSpanSendMessage, Message, Receive, Scope, Send

from service.front.serving.serving import Serving

NAME = b"x-request-id"
TICK_S = 0.05


class OneId:
    """Removes the app's `x-request-id`: Serve's proxy passes the request's id to the app, and adds it to the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through except that header."""

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [pair for pair in message["headers"] if pair[0].lower() != NAME]
            await send(message)

        await self._app(scope, receive, say)


class ReadyFirst:
    """Delays the end of the app's start until its service is ready or has failed.

    Serve sends requests only then, so a new deployment replaces the old one without answering "the model is loading".
    """

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass messages through; delay the end of the start."""

        async def say(message: Message | LifeSpanSendMessage) -> None:
            if message["type"] == "lifespan.startup.complete":
                while self._serving.health().status not in ("ok", "failed"):
                    await asyncio.sleep(TICK_S)
            await send(message)  # type: ignore[arg-type]  # of either scope

        await self._app(scope, receive, say)
