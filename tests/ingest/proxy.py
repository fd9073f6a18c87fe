"""A reverse proxy with a temper, before the real server: refuses large bodies, tells some requests to wait, dawdles."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterable
from typing import Any

import httpx
import uvicorn

FOR_EVER_S = 3600
KEPT = (b"content-type", b"authorization", b"retry-after", b"x-model-fingerprint")


class Proxy:
    """Forwards everything else.

    Args:
        behind: the server.
        max_body_bytes: answers 413 to larger ones.
        told_every: each so-manieth request is told to wait.
        retry_after_s: for so long.
        dawdle_s: how long a request lies here before it is forwarded.
        num_forwarded: later requests are never answered, so whoever asks does not come to an end.

    Attributes:
        url: where it listens.
        num_refused: answers 413.
        waits_s: how long each that was told to wait stayed away, all requests taken together.
    """

    def __init__(
        self,
        behind: str,
        *,
        max_body_bytes: int = 1 << 30,
        told_every: int = 1 << 30,
        retry_after_s: int = 1,
        dawdle_s: float = 0,
        num_forwarded: int = 1 << 30,
    ) -> None:
        self.stand_before(behind)
        self._max_body_bytes = max_body_bytes
        self._retry_after_s = retry_after_s
        self._told_every = told_every
        self._dawdle_s = dawdle_s
        self._num_forwarded = num_forwarded
        self.num_refused = 0
        self.num_asked = 0
        self.waits_s: list[float] = []
        self._told_at_s: float | None = None
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            self._app, log_level="critical", lifespan="off", interface="asgi3", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([listening])), daemon=True)
        self._thread.start()

    def stand_before(self, behind: str) -> None:
        """Forward to another server from now on."""
        self._behind = httpx.AsyncClient(base_url=behind, timeout=60)

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
            await asyncio.sleep(self._dawdle_s if self.num_asked <= self._num_forwarded else FOR_EVER_S)
        headers = _kept(scope["headers"])
        answer = await self._behind.request(scope["method"], scope["path"], content=body or None, headers=headers)
        return answer.status_code, _kept(answer.headers.raw), answer.content


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() in KEPT]
