"""Mutated requests on raw sockets, whole or in pieces: every connection is answered or ended, and nothing is a 5xx."""

import asyncio
import contextlib
import random
from pathlib import Path

from tests.conftest import LiveServer
from tests.raw_socket import address, is_whole, post
from tests.scoreboard.json_seeds import WORDS, seeds
from tests.scoreboard.leaks import leak_in
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.mutant import mutate

NUM_AT_ONCE = 48
WAIT_S = 8.0
FLAGS = ("--receive-timeout-s", "1")

HTTP_WORDS = (
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b"\t", b":", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"\x00", b"\xff",
    b"%00",
    b"transfer-encoding: chunked\r\n", b"content-length: 5\r\n", b"content-length: 99999999999999999999\r\n",
    b"content-length: -1\r\n", b"expect: 100-continue\r\n", b"connection: close\r\n", b"connection: upgrade\r\n",
    b"upgrade: websocket\r\n", b"upgrade: h2c\r\n", b"content-encoding: gzip\r\n", b"host: b\r\n",
    b"x: " + b"y" * 40_000,
    b"x-request-id: \x1b[31m\r\n", b"traceparent: 00-0-0-0\r\n", b"content-type: text/plain\r\n", b"0\r\n\r\n",
    b"ffffffffffffffff\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"/" + b"a" * 9_000, b"/../../etc/passwd", b"*",
    b"CONNECT a:1 ", b"OPTIONS ", b"HEAD ", b"DELETE ", b"GET /metrics ", b"GET http://a/livez ",
)  # fmt: skip

CHUNKED = (
    b"POST %s HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    b"%x\r\n%s\r\n0\r\n\r\n"
)


def _seeds() -> list[bytes]:
    posts = [post(path, raw) for path, raw in seeds()]
    chunked = [CHUNKED % (path.encode(), len(raw), raw) for path, raw in seeds()[:8]]
    paths = ("/", "/docs", "/livez", "/readyz", "/v1/models", "/v1/models/builtin", "/openapi.json", "/nothing?a=b")
    gets = [f"GET {path} HTTP/1.1\r\nhost: a\r\naccept: */*\r\n\r\n".encode() for path in paths]
    return posts + chunked * 2 + gets + [gets[2] * 3, gets[4] + posts[0]]


@line(
    6,
    "mutated HTTP on raw sockets",
    "0 5xx; every connection answered or ended",
    sizes=(10_000, 200_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log", *FLAGS) as server:
        failures = asyncio.run(_try_many(server, size))
        if server.status("/readyz") != 200:
            failures.append("the server is not ready any more")
    return Result(size, len(failures), failures[:6])


async def _try_many(server: LiveServer, size: int) -> list[str]:
    dice = random.Random("sockets")
    originals, words = _seeds(), (*HTTP_WORDS, *WORDS)
    failures: list[str] = []
    numbers = iter(range(size))

    async def work() -> None:
        for _ in numbers:
            raw = mutate(dice, dice.choice(originals), words)
            if wrong := await _try(server, raw, num_pieces=dice.choice((1, 1, 1, 2, 5)), half=dice.random() < 0.5):
                failures.append(f"{wrong}: {raw[:160]!r}")

    await asyncio.gather(*(work() for _ in range(NUM_AT_ONCE)))
    return failures


async def _try(server: LiveServer, raw: bytes, *, num_pieces: int, half: bool) -> str:
    """The fault, or nothing."""
    reader, writer = await asyncio.open_connection(*address(server))
    heard = b""
    try:
        async with asyncio.timeout(WAIT_S):
            with contextlib.suppress(OSError):
                step = max(1, -(-len(raw) // num_pieces))
                for start in range(0, len(raw), step):
                    writer.write(raw[start : start + step])
                    await writer.drain()
                if half:
                    writer.write_eof()
                while not is_whole(heard) and (received := await reader.read(1 << 16)):
                    heard += received
    except TimeoutError:
        return f"neither answered nor ended in {WAIT_S:g} s"
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return _wrong_with(heard, is_echo=bool(leak_in(raw)))


def _wrong_with(heard: bytes, *, is_echo: bool) -> str:
    if heard and not heard.startswith(b"HTTP/1.1 "):
        return f"answered {heard[:40]!r}"
    if heard[9:10] == b"5":
        return f"answered {heard[9:12].decode()}"
    head, _, body = heard.partition(b"\r\n\r\n")
    is_error = heard[9:10] == b"4" and b"application/json" in head
    return f"said {leak!r}" if is_error and not is_echo and (leak := leak_in(body)) else ""
