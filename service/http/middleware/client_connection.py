"""Ties a request to its client's connection: work ends with a hang-up, and a drain ends the connection.

A middleware around the app. It reads what the server says after the body has ended, and on a disconnect cancels the
request's own task: unwinding gives back the request's places in the queue, its pixels, and what the engine has not
begun. Such a request counts as 499, which no client ever sees. Large bodies are written in slices, each when the client
has taken those before. While the service drains, every answer closes its connection, so that the client's next request
goes to another replica.

Source: the ASGI specification, `http.disconnect`.
"""

import asyncio
from dataclasses import dataclass

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from service.front.serving.serving import Serving
from service.http.middleware.access_log import CLIENT_CLOSED_REQUEST

MAX_WRITE_BYTES = 5 << 15
"""Of one write: what the socket does not take of it is copied, for each client that is slow. A slice of a large answer
is 128 KiB and at most a vector more."""

CLOSE = (b"connection", b"close")


class ClientConnection:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app = app
        self._serving = serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app, and cancel the task that it runs in when the client has gone."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        request = CancellableRequest(receive, send, self._serving, asyncio.current_task())
        try:
            await self._app(scope, request.receive, request.send)
        except asyncio.CancelledError:
            if request.work is None or not request.has_gone or request.work.uncancel():
                raise  # cancelled from outside too: the server is stopping
            if not request.has_begun:  # for the log; the server sends nothing to a client that has gone
                await send({"type": "http.response.start", "status": CLIENT_CLOSED_REQUEST, "headers": []})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if request.watcher is not None:
                request.watcher.cancel()


@dataclass(slots=True)
class CancellableRequest:
    """One request, whose client is watched once its body has ended.

    Attributes:
        work: the task that makes the answer.
        has_gone: the client hung up before it had its answer.
        has_begun: a part of the answer was sent.
        is_over: all of it was: from then on a disconnect is the usual end.
        watcher: waits for a disconnect.
    """

    server_receive: Receive
    server_send: Send
    serving: Serving
    work: asyncio.Task[None] | None
    has_gone: bool = False
    has_begun: bool = False
    is_over: bool = False
    watcher: asyncio.Task[None] | None = None

    async def receive(self) -> HTTPReceiveMessage:
        """The next message of the body; after its end this waits until the request is over."""
        if self.watcher is None:
            message = await self.server_receive()
            if message["type"] != "http.disconnect":
                if not message.get("more_body"):
                    self.watcher = asyncio.create_task(self._watch())
                return message  # type: ignore[return-value]  # of an HTTP request
            self._cancel()
        await asyncio.Event().wait()  # until cancelled
        raise AssertionError("this event is never set")

    async def send(self, message: Message) -> None:
        """Send a message of the answer; a large body in slices."""
        self.has_begun = True
        if message["type"] == "http.response.start":
            if self.serving.is_draining and CLOSE not in message["headers"]:
                message["headers"] = [*message["headers"], CLOSE]
        elif message["type"] == "http.response.body":
            body = message["body"]
            if len(body) > MAX_WRITE_BYTES:
                last = (len(body) - 1) // MAX_WRITE_BYTES * MAX_WRITE_BYTES
                for start in range(0, last, MAX_WRITE_BYTES):
                    part = body[start : start + MAX_WRITE_BYTES]
                    await self.server_send({"type": "http.response.body", "body": part, "more_body": True})
                message = {**message, "body": body[last:]}
            if not message.get("more_body"):
                self.is_over = True
        await self.server_send(message)

    async def _watch(self) -> None:
        while (await self.server_receive())["type"] != "http.disconnect":
            pass
        self._cancel()

    def _cancel(self) -> None:
        if not self.is_over and self.work is not None:
            self.has_gone = True
            self.work.cancel()
