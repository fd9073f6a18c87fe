"""Clients that are slow in every way, hundreds at once: others do not notice, and all of them are let go in time."""

import asyncio
import contextlib
import socket
import time
from pathlib import Path

from tests.conftest import LiveServer
from tests.raw_socket import address
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.pace import ask, texts

CALM_S = 7.0
RAMP_S = 3.0
FREED_S = 20.0
MOST = 1.5
NOISE_MS = 5.0
"""Noise of a shared machine in a 99th percentile of a few milliseconds."""

START = b"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
PAGE = b"GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n"
FLAGS = ("--max-connections", "8192", "--keep-alive-s", "15")

KINDS: tuple[tuple[str, bytes, bytes], ...] = (
    ("says nothing", b"", b""),
    ("drips a head", b"GET /v1/models HTTP/1.1\r\nx-a: ", b"a"),
    ("drips a body", START + b"content-length: 100000\r\n\r\n", b" "),
    ("stops in a body", START + b"content-length: 100000\r\n\r\n" + b" " * 5000, b""),
    ("drips chunks", START + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ("reads nothing", PAGE * 40, b""),
    ("drips a body that nobody reads", b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n", b" "),
    ("is idle after its answer", b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", b""),
)
"""Bytes that each sends at once, and once a second from then on."""


@line(17, "slow clients held at once", "p99 of others <= 1.5x; let go within 20 s", sizes=(500, 5_000))
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log", *FLAGS) as server:
        return asyncio.run(_hold(server, size))


async def _hold(server: LiveServer, size: int) -> Result:
    bodies = texts(50)
    await ask(server, bodies, time.monotonic() + 1)
    calm = await ask(server, bodies, time.monotonic() + CALM_S)
    held = [asyncio.create_task(_be_slow(server, number, RAMP_S * number / size)) for number in range(size)]
    await asyncio.sleep(RAMP_S)
    crowded = await ask(server, bodies, time.monotonic() + CALM_S)
    lived = await asyncio.gather(*held)
    calm_again = await ask(server, bodies, time.monotonic() + CALM_S)
    failures = [*calm.failures, *crowded.failures, *calm_again.failures]
    for number, seconds in enumerate(lived):
        if seconds > FREED_S:
            failures.append(f"one that {KINDS[number % len(KINDS)][0]} was kept for {seconds:.1f} s and more")
    before_ms, while_ms, after_ms = (part.quantile_ms(0.99) for part in (calm, crowded, calm_again))
    if while_ms > max(before_ms, after_ms) * MOST + NOISE_MS:
        failures.append("others waited longer")
    told = f"p99 of others {before_ms:.1f} ms before, {while_ms:.1f} ms while, {after_ms:.1f} ms after; "
    told += f"last let go after {max(lived):.1f} s"
    return Result(size, len(failures), [*failures[:5], told])


async def _be_slow(server: LiveServer, number: int, delay_s: float) -> float:
    """Seconds until the server ended the connection."""
    await asyncio.sleep(delay_s)
    _, at_once, each_second = KINDS[number % len(KINDS)]
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, address(server))
        began_s = time.monotonic()
        with contextlib.suppress(OSError):
            await loop.sock_sendall(client, at_once)
            while time.monotonic() - began_s < FREED_S + 1:
                await asyncio.sleep(1)
                client.send(each_second)
                if _is_over(client):
                    break
        return time.monotonic() - began_s


def _is_over(client: socket.socket) -> bool:
    """True if the other side has ended it: nothing is read, so a slow reader stays one."""
    state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state != TCP_ESTABLISHED


TCP_ESTABLISHED = 1
