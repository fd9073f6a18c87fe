"""A reverse proxy with a temper, before the real server: it refuses large bodies, and tells some requests to wait."""

import asyncio
import socket
import threading
import time
from typing import Any

import httpx
import uvicorn


class Proxy:
    """Forwards everything else.

    Attributes:
        url: where it listens.
        num_refused: answers 413.
        waits_s: how long each that was told to wait stayed away, all requests taken together.
    """

    def __init__(self, behind: str, max_body_bytes: int, retry_after_s: int, told_every: int) -> None:
        self._behind = httpx.AsyncClient(base_url=behind, timeout=60)
        self._max_body_bytes = max_body_bytes
        self._retry_after_s = retry_after_s
        self._told_every = told_every
        self.num_refused = 0
        self.num_asked = 0
        self.waits_s: list[float] = []
        self._told_at_s: float | None = None
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(self._app, log_level="error", lifespan="off", interface="asgi3"))
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([listening])), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    async def _app(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status, headers, content = await self._answer(scope, body)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _answer(self, scope: dict[str, Any], body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        if scope["method"] == "POST":
            if self._told_at_s is not None:
                self.waits_s.append(time.monotonic() - self._told_at_s)
                self._told_at_s = None
            if len(body) > self._max_body_bytes:
                self.num_refused += 1
                return 413, [], b"<html>413 Request Entity Too Large</html>"
            self.num_asked += 1
            if self.num_asked % self._told_every == 0:
                self._told_at_s = time.monotonic()
                return 429, [(b"retry-after", str(self._retry_after_s).encode())], b"slow down"
        answer = await self._behind.request(scope["method"], scope["path"], content=body or None, headers=_kept(scope))
        return answer.status_code, [(b"content-type", answer.headers["content-type"].encode())], answer.content


def _kept(scope: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in scope["headers"] if name in (b"content-type", b"authorization")]
