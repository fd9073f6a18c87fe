"""Bodies in tiny chunks and in tiny lines, 12 MB/s of them: others are answered as if there were none.

The flood is a process of its own, and so is the model; what is asked for is `/livez`, which takes nothing but the loop.
"""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT, LiveServer
from tests.scoreboard.flood import KINDS
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import Connection, get_bytes, p99, request_bytes, served

MOST_S = 0.1
PAUSE_S = 0.02
BEGUN_S = 1.0
"""Of each flood, before anything is measured."""


@line(
    17,
    "seconds of bodies in tiny chunks and lines, 12 MB/s on 16 connections",
    "/livez p99 < 100 ms; embeddings are answered",
    sizes=(20, 120),
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log") as server:
        return asyncio.run(_measure(server, size))


async def _measure(server: LiveServer, seconds: int) -> Result:
    failures, notes, num_tried = [], [], 0
    for kind in KINDS:
        each_s = seconds / len(KINDS)
        flood = subprocess.Popen(
            [sys.executable, "-m", "tests.scoreboard.flood", server.url, kind, str(each_s + BEGUN_S)], cwd=ROOT
        )
        try:
            await asyncio.sleep(BEGUN_S)
            lives, embeds = await asyncio.gather(
                _ask(server, get_bytes("/livez"), each_s, PAUSE_S),
                _ask(server, request_bytes("/v1/embeddings", {"input": "one text"}), each_s, 10 * PAUSE_S),
            )
        finally:
            flood.kill()
            flood.wait()
        num_tried += len(lives) + len(embeds)
        p99_s = p99(lives)
        if p99_s > MOST_S:
            failures.append(f"{kind}: /livez took {p99_s:.2f} s")
        notes.append(f"{kind}: /livez p99 {p99_s * 1e3:.0f} ms, an embedding at most {max(embeds) * 1e3:.0f} ms")
    return Result(num_tried, len(failures), [*failures, *notes])


async def _ask(server: LiveServer, request: bytes, seconds: float, pause_s: float) -> list[float]:
    """Seconds of each answer."""
    connection, took, until_s = Connection(server.url), [], time.monotonic() + seconds
    while time.monotonic() < until_s or not took:
        took.append(await connection.timed(request))
        await asyncio.sleep(pause_s)
    connection.close()
    return took
