"""Nobody works for a client that has hung up: its request is cancelled where it stands, and what it held comes back.

A ring: it reads what the server tells after the body has ended, and cancels the request's own task. Cancelling unwinds
the request's places in the queue, its pixels, and what the engine has not begun. Such a request counts as 499, which
no client ever sees.

Source: the ASGI specification, `http.disconnect`; reference/security-reliability.md section 5, "Disconnect cancels".
"""

import asyncio
from dataclasses import dataclass

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

MAX_WRITE_BYTES = 5 << 15
"""Of one write: what the socket does not take of it is copied, for each client that is slow. A slice of a large answer
is 128 KiB and at most a vector more."""

CLIENT_CLOSED_REQUEST = 499
"""nginx's word for it; it stands in the log and in the metrics."""


class CancelOnDisconnect:
    """An ASGI app around another."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app, and cancel the task that it runs in when the client has gone."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        exchange = Exchange(receive, send, asyncio.current_task())
        try:
            await self._app(scope, exchange.hear, exchange.say)
        except asyncio.CancelledError:
            if exchange.work is None or not exchange.has_gone or exchange.work.uncancel():
                raise  # somebody else has cancelled it too: the server, which goes
            await exchange.close()
        finally:
            exchange.end()


@dataclass(slots=True)
class Exchange:
    """One request and its answer, watched.

    Attributes:
        receive: the server's.
        send: the server's.
        work: the task that makes the answer.
        has_gone: the client hung up before it had its answer.
    """

    receive: Receive
    send: Send
    work: asyncio.Task[None] | None
    has_gone: bool = False
    _watcher: asyncio.Task[None] | None = None
    _has_begun: bool = False
    _is_over: bool = False

    async def hear(self) -> HTTPReceiveMessage:
        """What the app receives: the body, and after its end nothing any more."""
        if self._watcher is None:
            message = await self.receive()
            if message["type"] != "http.disconnect":
                if not message.get("more_body"):
                    self._watcher = asyncio.create_task(self._watch())
                return message  # type: ignore[return-value]  # of an HTTP request
            self._leave()
        await asyncio.Event().wait()  # until cancelled
        raise AssertionError("nobody sets that event")

    async def say(self, message: Message) -> None:
        """What the app sends; a large body in slices, each when the client has taken those before."""
        self._has_begun = True
        if message["type"] == "http.response.body" and len(message["body"]) > MAX_WRITE_BYTES:
            body = message["body"]
            last = (len(body) - 1) // MAX_WRITE_BYTES * MAX_WRITE_BYTES
            for start in range(0, last, MAX_WRITE_BYTES):
                part = body[start : start + MAX_WRITE_BYTES]
                await self.send({"type": "http.response.body", "body": part, "more_body": True})
            message = {**message, "body": body[last:]}
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._is_over = True  # from here on a disconnect is the usual end
        await self.send(message)

    async def close(self) -> None:
        """Tell the rings outside how it ended; the server sends nothing to a client that has gone."""
        if not self._has_begun:
            await self.send({"type": "http.response.start", "status": CLIENT_CLOSED_REQUEST, "headers": []})
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    def end(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.cancel()

    async def _watch(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        if not self._is_over and self.work is not None:
            self.has_gone = True
            self.work.cancel()
