"""A server and a light client for lines that load it on the same two cores: HTTP/1.1 over asyncio streams."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import CHECKPOINT, LiveServer


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that came back."""

    status: int
    headers: dict[str, str]
    body: bytes


@contextmanager
def served(
    log: Path,
    *flags: str,
    model: Path | str = CHECKPOINT,
    env: dict[str, str] | None = None,
    is_flooded: bool = False,
) -> Iterator[LiveServer]:
    """A ready server, which is ended in the end; killed where it has a flood to drain, which is not worth the wait."""
    server = LiveServer(log, "--model", str(model), *flags, env=env)
    try:
        yield server.wait_until_ready()
    finally:
        if is_flooded:
            server.process.kill()
        server.stop()


def request_bytes(path: str, body: dict[str, Any], **headers: str) -> bytes:
    """A POST of JSON, with `_` for `-` in the names of headers."""
    raw = json.dumps(body).encode()
    named = {"host": "x", "content-type": "application/json", "content-length": str(len(raw)), **headers}
    lines = [f"POST {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode() + raw


def get_bytes(path: str) -> bytes:
    """A GET."""
    return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()


class Connection:
    """One connection, opened when it is needed and kept as long as the server keeps it."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._address = (host, int(port))
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> Answer:
        """One exchange; a kept connection that the server has closed meanwhile is opened again, once."""
        is_fresh = self._streams is None
        try:
            return await self._exchange(request)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            if is_fresh:
                raise
            return await self._exchange(request)

    async def timed(self, request: bytes, status: int = 200) -> float:
        """Seconds of one exchange, whose answer has to have this status."""
        began_s = time.monotonic()
        answer = await self.ask(request)
        assert answer.status == status, answer.body[:300]
        return time.monotonic() - began_s

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The streams, for those who want to break them."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        return self._streams

    def close(self) -> None:
        """Close it, if it is open."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _exchange(self, request: bytes) -> Answer:
        reader, writer = await self.open()
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        headers = {name.lower(): value for name, value in re.findall(r"^([^:\r\n]+): ?(.*?)\r$", head, re.M)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(int(head.split(" ", 2)[1]), headers, body)


def p99(seconds: list[float]) -> float:
    """The 99th percentile."""
    return sorted(seconds)[int(0.99 * len(seconds))]
