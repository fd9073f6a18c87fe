"""Tenants drip and stall on a media host that others fetch from: their images come as if nobody else were there.

Two tenants flood: each with requests of many images of one host that begins to answer and drips, or says nothing. A
dripping host alone is left long before the time limit of a fetch, too.
"""

import asyncio
import base64
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.front.admission.key_file import new_key
from tests.builders import write_keys
from tests.conftest import LiveServer, image
from tests.media_host import MediaHost, reply
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.amidst_flood import Waits, measure
from tests.scoreboard.lines.raw_http import Connection, request_bytes, served

FETCH_S = 10.0
"""Time limit of a fetch, the server's own."""
NUM_REQUESTS, NUM_URLS = 4, 16
"""Of each tenant that floods."""
SETTLE_S = 1.0
TENANTS = ("drips", "stalls", "victim")


@line(
    15,
    "an image of a host on which two other tenants drip and stall; a dripping host alone",
    "longest wait <= 3x alone + 250 ms; a dripping host is left in half of a fetch's time",
    sizes=(20, 200),
)
def run(size: int, folder: Path) -> Result:
    """Fetch `size` images alone, and as many amidst the others."""
    keys = {name: new_key() for name in TENANTS}
    key_file = write_keys(folder / "keys.jsonl", keys)
    file = base64.b64decode(image(77).partition(",")[2])
    scripts = {"drips": lambda _: _drip(), "stalls": lambda _: _stall()}
    slow = {f"/{name}?{n}": script for name, script in scripts.items() for n in range(NUM_REQUESTS * NUM_URLS)}
    with MediaHost({"/quick": reply(file)} | slow) as host:
        flags = ("--allow-private-media-hosts", "localhost", "--media-ports", str(host.port))
        flags += ("--api-keys", str(key_file), "--media-fetch-timeout-s", str(FETCH_S))
        with served(folder / "server.log", *flags, is_flooded=True) as server:
            drip_s, waits = asyncio.run(_measure(server, host, keys, size))
    failures = ["an image waited too long for others of its host"] if waits.is_too_long else []
    if drip_s > FETCH_S / 2:
        failures.append("a dripping host was waited for")
    figures = f"{waits}; a dripping host was left after {drip_s:.1f} s"
    return Result(size + 1, len(failures), [*failures, figures])


async def _measure(server: LiveServer, host: MediaHost, keys: dict[str, str], size: int) -> tuple[float, Waits]:
    """Seconds until a dripping host is left, and of an image alone and amidst the flood."""
    quick = _images([host.url("/quick")], keys["victim"])
    flood = [_images(urls, keys[name]) for name in TENANTS[:2] for urls in _batches(host, name)]
    drip_s = await Connection(server.url).timed(_images([host.url("/drips?0")], keys["victim"]), 502)
    return drip_s, await measure(server, lambda: quick, lambda: flood, size, SETTLE_S)


def _batches(host: MediaHost, name: str) -> Iterator[list[str]]:
    for number in range(NUM_REQUESTS):
        yield [host.url(f"/{name}?{number * NUM_URLS + n}") for n in range(NUM_URLS)]


def _images(urls: Sequence[str], key: str) -> bytes:
    inputs = [{"content": [{"type": "image_url", "image_url": {"url": url}}]} for url in urls]
    body = {"inputs": inputs} | ({"on_error": "per_item"} if len(urls) > 1 else {})
    return request_bytes("/v1/embeddings", body, authorization=f"Bearer {key}")


def _drip() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
    while True:
        time.sleep(0.1)
        yield b"x"


def _stall() -> Iterator[bytes]:
    time.sleep(2 * FETCH_S)
    yield b""
