"""One `x-request-id` an answer: Serve's proxy hands the request's down to us and adds it to the answer itself."""

from litestar.types import ASGIApp, Message, Receive, Scope, Send

NAME = b"x-request-id"


class OneId:
    """An ASGI app around another, whose own header of that name it takes away."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through, but for that header."""

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [pair for pair in message["headers"] if pair[0].lower() != NAME]
            await send(message)

        await self._app(scope, receive, say)
