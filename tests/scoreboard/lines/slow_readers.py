"""Readers of large answers at rates above the least one, with the system's own buffers, and answers that nobody takes.

The first are never cut and get their answers whole. The others hold what is stated and no more: in the service's own
count, in its memory and in the system's buffers; who comes then is told to come back, and who asks for little is not.
"""

import asyncio
import json
import socket
import time
from pathlib import Path

from tests.conftest import LiveServer
from tests.raw_socket import address, post
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.vitals import Vitals

RATES = (20_000, 20_000, 40_000, 60_000, 100_000)
"""Bytes a second of each honest reader."""
NUM_GREEDY = 40
NUM_INPUTS = 1_000
DIMENSIONS = 128
MAX_ANSWER_BYTES = 10 * NUM_INPUTS * DIMENSIONS * 4
MOST_UNSENT = 256 << 10
"""Of one connection in the system's buffer: 128 KiB and a segment, which is 64 KiB on the way to the same machine."""
MOST_GROWN_MIB = MAX_ANSWER_BYTES / (1 << 20) + (len(RATES) + NUM_GREEDY) / 4 + 24
TICK_S = 0.1
WAIT_S = 60
FLAGS = (
    *("--max-queue-bytes", str(MAX_ANSWER_BYTES), "--max-queue-requests", str(100 * NUM_INPUTS)),
    *("--log-format", "json", "--result-cache-bytes", "1MiB"),
)
ASK = post("/v1/embeddings", json.dumps({"input": ["a"] * NUM_INPUTS}).encode(), "connection: close")
SMALL = {"input": "a"}


@line(
    17,
    "seconds of readers at 20 to 100 kB/s, and of 40 that take nothing",
    "each answer whole; at most what is stated is held; small requests 200",
    sizes=(25, 120),
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log", *FLAGS) as server:
        return asyncio.run(_measure(server, size))


async def _measure(server: LiveServer, seconds: int) -> Result:
    await _read(server, 1 << 30, 0)  # warm
    front = Vitals(server.process.pid)
    front.sample()
    honest = [asyncio.create_task(_read(server, rate, seconds)) for rate in RATES]
    await asyncio.sleep(2)
    greedy = [asyncio.create_task(_read(server, 1 << 30, seconds, until_read=12)) for _ in range(NUM_GREEDY)]
    failures = await _watch(server, front, seconds - 2)
    answers = await asyncio.gather(*honest)
    failures += [
        f"{rate} B/s: {len(one)} bytes"
        for rate, one in zip(RATES, answers, strict=True)
        if _num_vectors(one) != NUM_INPUTS
    ]
    statuses = [one[9:12] for one in await asyncio.gather(*greedy)]
    if not {*statuses} <= {b"200", b"503"} or b"503" not in statuses or b"200" not in statuses:
        failures.append(f"those who take nothing were answered {statuses}")
    told = f"{statuses.count(b'503')} of {NUM_GREEDY} refused; the front grew by {front.risen_mib:.0f} MiB"
    return Result(len(RATES) + NUM_GREEDY, len(failures), [*failures[:5], told])


async def _watch(server: LiveServer, front: Vitals, seconds: float) -> list[str]:
    """Figures that exceeded their limits meanwhile."""
    failures, until_s = [], time.monotonic() + seconds
    port = address(server)[1]
    while time.monotonic() < until_s:
        held = await asyncio.to_thread(server.metric, "cenote_answer_bytes")
        if held > MAX_ANSWER_BYTES:
            failures.append(f"answers hold {held:.0f} bytes")
        if (unsent := _most_unsent(port)) > MOST_UNSENT:
            failures.append(f"{unsent} bytes of a connection wait in the system")
        status = (await asyncio.to_thread(server.http.post, "/v1/embeddings", json=SMALL)).status_code
        if status != 200:
            failures.append(f"a small request was answered {status}")
        front.sample()
        await asyncio.sleep(0.5)
    if front.risen_mib > MOST_GROWN_MIB:
        failures.append(f"the front grew by {front.risen_mib:.0f} MiB")
    return failures[:3]


def _most_unsent(port: int) -> int:
    """Most bytes that the system holds of what was written to one connection of the server."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return max((int(row[4].partition(":")[0], 16) for row in rows if row[1].endswith(f":{port:04X}")), default=0)


async def _read(server: LiveServer, rate: int, seconds: float, until_read: int = 1 << 30) -> bytes:
    """Ask, and read at a rate for some seconds and then as fast as it comes.

    Args:
        server: whom.
        rate: bytes a second.
        seconds: how long.
        until_read: bytes after which nothing is read, until the seconds are over; then the connection is closed.
    """
    loop, heard, began_s = asyncio.get_running_loop(), b"", time.monotonic()
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, address(server))
        await loop.sock_sendall(client, ASK)
        while len(heard) < until_read:
            is_slow = time.monotonic() - began_s < seconds
            num_most = min(until_read, int(rate * TICK_S) if is_slow else 1 << 20)
            async with asyncio.timeout(WAIT_S):
                received = await _received(loop, client, num_most)
            heard += received
            if not received:
                return heard
            await asyncio.sleep(TICK_S if is_slow else 0)
        await asyncio.sleep(max(0.0, began_s + seconds - time.monotonic()))
    return heard


async def _received(loop: asyncio.AbstractEventLoop, client: socket.socket, num_most: int) -> bytes:
    try:
        return await loop.sock_recv(client, num_most)
    except OSError:
        return b""


def _num_vectors(raw: bytes) -> int:
    """Number of vectors of an answer in chunks, if it is whole."""
    return raw.count(b'"object":"embedding"') if raw.endswith(b"0\r\n\r\n") else 0
