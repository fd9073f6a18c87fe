"""Clients that compare long queries with many long documents, whose vectors are there at once; others hardly notice.

The documents of a request are alike, so that the engine reads one, and all that is left is comparing: some seconds of
one core. Others embed a text, compare a few vectors, and compare so many that these wait for the same threads.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from tests.conftest import LiveServer
from tests.models.late.checkpoints import hf_colqwen2 as colqwen2
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import Connection, get_bytes, p99, request_bytes, served

TIMES_ALONE = 3.0
MORE_S = 0.02
"""Two slices of a comparison: few vectors are compared in less by themselves."""
NUM_FLOODS = 2
NUM_DOCUMENTS = 100
LONG = "some more words of a text " * 220
"""Some 4,000 tokens."""
MIDDLING = "some words of a text " * 20
NUM_PER_ROUND = 20
SMALLEST_FLOOD_BYTES = 100 << 20
"""Of the vectors of one."""
PATIENCE_S = 120.0

numbers = count()


@dataclass
class Kind:
    """A kind of small request, and how long each took.

    Attributes:
        name: in words.
        alone_s: when nobody else was there.
        waits_s: beside the flood.
    """

    name: str
    path: str
    alone_s: list[float] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)

    def request(self) -> bytes:
        """One like no other."""
        number = next(numbers)
        bodies: dict[str, dict[str, Any]] = {
            "a text": {"texts": [f"a text {number}"]},
            "few vectors": {"queries": f"a query {number}", "documents": [f"a text {number} {n}" for n in range(4)]},
            "more vectors": {"query": f"{number} {MIDDLING}", "documents": [f"{number} {MIDDLING}"] * 24},
        }
        return request_bytes(self.path, bodies[self.name])


@line(
    15,
    "small requests while others compare 4,000 vectors with 400,000, again and again",
    "p99 <= 3x alone + 20 ms",
    sizes=(40, 200),
)
def run(size: int, folder: Path) -> Result:
    """Ask `size` small requests of each kind alone, and as many beside the flood."""
    kinds = [Kind("a text", "/v2/embed"), Kind("few vectors", "/score"), Kind("more vectors", "/v1/rerank")]
    model = colqwen2(folder / "colqwen2-small")
    with served(folder / "server.log", "--threads", "2", model=model, is_flooded=True) as server:
        asyncio.run(_measure(server, kinds, size))
    failures, figures = [], []
    for kind in kinds:
        alone_s, wait_s = p99(kind.alone_s), p99(kind.waits_s)
        figures.append(
            f"{kind.name}: p99 {wait_s * 1e3:.0f} ms, {alone_s * 1e3:.0f} alone; median "
            f"{median(kind.waits_s) * 1e3:.0f}, {median(kind.alone_s) * 1e3:.0f} alone"
        )
        if wait_s > TIMES_ALONE * alone_s + MORE_S:
            failures.append(f"too long: {kind.name}")
    return Result(sum(len(kind.waits_s) for kind in kinds), len(failures), [*failures, *figures])


async def _measure(server: LiveServer, kinds: list[Kind], size: int) -> None:
    """In rounds, each alone and then beside a flood: what else the machine does is in both."""
    connection = Connection(server.url)
    for kind in kinds:
        await connection.timed(kind.request())  # warm
    for start in range(0, size, NUM_PER_ROUND):
        num = min(NUM_PER_ROUND, size - start)
        for _ in range(num):
            for kind in kinds:
                kind.alone_s.append(await connection.timed(kind.request()))
        floods = [asyncio.create_task(_flood(server)) for _ in range(NUM_FLOODS)]
        await _compares(connection, floods)
        await connection.timed(kinds[0].request())  # waits while 200 MB of vectors come, which are not compared yet
        for _ in range(num):
            for kind in kinds:
                kind.waits_s.append(await connection.timed(kind.request()))
        if any(flood.done() for flood in floods):
            raise AssertionError("the flood was over before the measurement")
        for flood in floods:
            flood.cancel()
        await asyncio.gather(*floods, return_exceptions=True)
    connection.close()


async def _flood(server: LiveServer) -> None:
    number, connection = next(numbers), Connection(server.url)
    try:
        body = {"query": f"{number} {LONG}", "documents": [f"{LONG} {number}"] * NUM_DOCUMENTS}
        answer = await connection.ask(request_bytes("/v1/rerank", body))
        raise AssertionError(f"the flood was answered {answer.status} {answer.body[:300]!r}")
    finally:
        connection.close()


async def _compares(connection: Connection, floods: Sequence[asyncio.Task[None]]) -> None:
    """Wait until the engine is done with the floods, and their vectors are compared."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s and not any(flood.done() for flood in floods):
        page = (await connection.ask(get_bytes("/metrics"))).body.decode()
        held, waiting = (_value(page, name) for name in ("cenote_answer_bytes", "cenote_queue_tokens"))
        if held > NUM_FLOODS * SMALLEST_FLOOD_BYTES and not waiting:
            return
        await asyncio.sleep(0.02)
    for flood in floods:
        flood.cancel()
    raise AssertionError(f"the flood did not begin: {await asyncio.gather(*floods, return_exceptions=True)}")


def _value(page: str, name: str) -> float:
    return next(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(f"{name}{{"))
