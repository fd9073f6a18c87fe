"""One address opens thousands of connections that are idle or drip: others are answered as if there were none.

Each question comes on a new connection, as probes' and most jobs' do. Where no connection drips a body, another client
of the same address is answered, too.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable
from pathlib import Path

from tests.conftest import ROOT, LiveServer
from tests.raw_socket import address
from tests.scoreboard.crowd import OPEN_PER_S
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import get_bytes, p99, request_bytes, served

SAME, OTHER = "127.0.0.1", "127.0.0.2"
CROWDS = (("idle,silent,head", (SAME, OTHER)), ("idle,head,body,body", (OTHER,)))
"""The crowds' behavior, and the clients that are answered all the same."""

MEASURED_S = 5.0
"""Beside the time in which they are opened, which counts as well."""
MOST_S = 0.1
TIMES_ALONE = 3.0
"""On a machine where a probe takes longer than that anyway."""
PAUSE_S = 0.02
WAIT_S = 10.0

PROBE = get_bytes("/livez")
EMBED = request_bytes("/v1/embeddings", {"input": "one text"})


@line(
    17,
    "connections of one address: idle, silent, dripping heads and bodies",
    "from another: /livez 100 %, p99 < 100 ms; embeddings answered",
    sizes=(5_000, 10_000),
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log") as server:
        return asyncio.run(_measure(server, size))


async def _measure(server: LiveServer, size: int) -> Result:
    alone_s = p99([seconds for _, seconds in await _ask(server, OTHER, PROBE, MEASURED_S, PAUSE_S)])
    failures, notes, num_tried = [], [f"/livez alone: p99 {alone_s * 1e3:.0f} ms"], 0
    for kinds, sources in CROWDS:
        each_s = size / OPEN_PER_S + MEASURED_S
        command = [sys.executable, "-m", "tests.scoreboard.crowd", server.url, kinds, str(size), str(each_s + 1)]
        crowd = subprocess.Popen(command, cwd=ROOT)
        try:
            asked: list[Awaitable[list[tuple[int, float]]]] = []
            for source in sources:
                asked += [
                    _ask(server, source, PROBE, each_s, PAUSE_S),
                    _ask(server, source, EMBED, each_s, 10 * PAUSE_S),
                ]
            heard = await asyncio.gather(*asked)
        finally:
            crowd.kill()
            crowd.wait()
        for number, answers in enumerate(heard):
            what = f"{kinds}: {('/livez', 'an embedding')[number % 2]} from {sources[number // 2]}"
            num_tried += len(answers)
            refused = [status for status, _ in answers if status != 200]
            p99_s = p99([seconds for _, seconds in answers])
            if refused:
                failures.append(f"{what}: {len(refused)} of {len(answers)} got {sorted(set(refused))}")
            if number % 2 == 0 and p99_s > max(MOST_S, TIMES_ALONE * alone_s):
                failures.append(f"{what} took {p99_s:.2f} s")
            notes.append(f"{what}: {len(answers)} asked, p99 {p99_s * 1e3:.0f} ms")
    return Result(num_tried, len(failures), [*failures, *notes])


async def _ask(
    server: LiveServer, source: str, request: bytes, seconds: float, pause_s: float
) -> list[tuple[int, float]]:
    """Status of each answer, 0 where there was none, and how long it took."""
    answers, until_s = [], time.monotonic() + seconds
    while (began_s := time.monotonic()) < until_s:
        status = 0
        try:
            async with asyncio.timeout(WAIT_S):
                reader, writer = await asyncio.open_connection(*address(server), local_addr=(source, 0))
                writer.write(request)
                status = int((await reader.readexactly(12))[9:])
                writer.close()
        except (OSError, asyncio.IncompleteReadError):
            pass
        answers.append((status, time.monotonic() - began_s))
        await asyncio.sleep(pause_s)
    return answers
