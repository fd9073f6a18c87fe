"""Clients in processes of their own, so that asking does not wait for itself."""

import asyncio
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from types import TracebackType
from typing import Self

from tests.bench.exchange import connect, exchange


@dataclass(frozen=True, slots=True)
class Asked:
    """Answers to requests.

    Attributes:
        began_s: of each, on a clock that all processes share.
        ended_s: likewise.
    """

    began_s: Sequence[float]
    ended_s: Sequence[float]

    @property
    def seconds(self) -> float:
        """From the first byte of the first to the last byte of the last."""
        return max(self.ended_s) - min(self.began_s)

    @property
    def median_s(self) -> float:
        """Of the time that a request took."""
        return statistics.median(ended - began for began, ended in zip(self.began_s, self.ended_s, strict=True))

    def told(self) -> str:
        """Median and 95th percentile, in words."""
        took = sorted(ended - began for began, ended in zip(self.began_s, self.ended_s, strict=True))
        return f"median {self.median_s * 1e3:.1f} ms, p95 {took[int(0.95 * (len(took) - 1))] * 1e3:.1f} ms"


class Clients:
    """So many processes, which share connections and requests among them."""

    def __init__(self, num_processes: int) -> None:
        self._num_processes = num_processes
        self._pool = ProcessPoolExecutor(num_processes, mp_context=get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def ask(self, url: str, bodies: Sequence[bytes], at_once: int) -> Asked:
        """Post bodies to `/v1/embeddings`, so many at once; every answer has to be 200.

        Raises:
            RuntimeError: one is not.
        """
        num = min(self._num_processes, at_once, len(bodies))
        parts = [(list(bodies[place::num]), at_once // num + (place < at_once % num)) for place in range(num)]
        running = [self._pool.submit(_ask, url, *part) for part in parts]
        times = [time for one in running for time in one.result()]
        return Asked([began for began, _ in times], [ended for _, ended in times])


def _ask(url: str, bodies: Sequence[bytes], at_once: int) -> list[tuple[float, float]]:
    return asyncio.run(_asked(url, bodies, at_once))


async def _asked(url: str, bodies: Sequence[bytes], at_once: int) -> list[tuple[float, float]]:
    connections = [await connect(url, None) for _ in range(min(at_once, len(bodies)))]
    try:
        answers, _ = await exchange(connections, "/v1/embeddings", bodies)
        return [(one.began_s, one.ended_s) for one in answers]
    finally:
        for connection in connections:
            connection.close()
