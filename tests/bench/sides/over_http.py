"""A server behind an OpenAI-compatible `/v1/embeddings`: ours, or another by its URL."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import uvloop
from numpy.typing import NDArray

from tests.bench.exchange import Answer, connect, exchange
from tests.bench.work import Work
from tests.conftest import from_base64

ACCEPT_S = 0.02
"""In which the server takes new connections in: clients keep theirs, and the clock is for requests."""


class OverHttp:
    """A server and what it last answered. Connections are opened before the clock starts.

    Attributes:
        url: of the server, without a path.
    """

    def __init__(self, url: str, extra: dict[str, Any] | None = None, key: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._extra = extra or {}
        self._key = key
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._ready: dict[str, tuple[str, list[bytes], int]] = {}
        self._answers: dict[str, Sequence[Answer]] = {}

    def prepare(self, label: str, work: Work) -> None:
        bodies = [json.dumps(body | self._extra).encode() for body in work.bodies]
        self._ready[label] = (work.path, bodies, work.concurrency)

    def run(self, label: str) -> float:
        self._answers[label], seconds = self._runner.run(self._exchange(*self._ready[label]))
        return seconds

    def vectors(self, label: str) -> list[NDArray[np.float32]]:
        data = [entry for answer in self._answers[label] for entry in json.loads(answer.body)["data"]]
        return [_row(entry["embedding"]) for entry in data]

    def bodies(self, label: str) -> list[bytes]:
        """The last answers as they came."""
        return [answer.body for answer in self._answers[label]]

    def usage(self, label: str, name: str) -> int:
        """The sum of a field of `usage` over the last answers."""
        return sum(json.loads(answer.body)["usage"][name] for answer in self._answers[label])

    def num_bytes(self, label: str) -> int:
        """Bytes of the last answers."""
        return sum(len(answer.body) for answer in self._answers[label])

    def close(self) -> None:
        self._runner.close()

    async def _exchange(self, path: str, bodies: Sequence[bytes], concurrency: int) -> tuple[list[Answer], float]:
        connections = [await connect(self.url, self._key) for _ in range(min(concurrency, len(bodies)))]
        await asyncio.sleep(ACCEPT_S)
        try:
            return await exchange(connections, path, bodies)
        finally:
            for connection in connections:
                connection.close()


def _row(embedding: str | list[float]) -> NDArray[np.float32]:
    return from_base64(embedding) if isinstance(embedding, str) else np.asarray(embedding, np.float32)
