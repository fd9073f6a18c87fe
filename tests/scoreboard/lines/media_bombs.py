"""Images and PDFs that are cheap to send and dear to decode: each is refused or passed over, and small ones never wait.

Bombs come from two clients at once; others ask for one small image or page after another, none of them alike.
"""

import asyncio
import base64
import json
import statistics
import time
import zlib
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from tests.conftest import LiveServer, image, image_part
from tests.media_bombs import BOMBS
from tests.pdf_file import FORM, boundless, endless, raw, winding
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import Connection, request_bytes, served

DEFLATED = b"/Filter/FlateDecode"
PAGES = {
    "pdf endless pattern": endless,
    "pdf boundless forms": boundless,
    "pdf winding path": winding,
    "pdf deflated zeros": lambda: raw(
        [b"/F1 Do", zlib.compress(b"0 " * (1 << 27), 9)], drawn=FORM + b"/Filter/FlateDecode"
    ),
}
"""Each page takes its time limit or more memory than a worker may have, but for one that is passed over."""
NUM_BYTES = 5_000_000
SMALL_FILES = {"jpeg scans": 60_000, "bmp lines": 12_000}
"""Bombs that need no more."""
PASSED_OVER = {
    "jpeg exif parts", "jpeg fill bytes between scans", "png profiles", "png texts", "png exif", "gif long sub-blocks",
    "pdf deflated zeros",
}  # fmt: skip
"""Parts that no decoder sees: answered as the small image that it is."""
TWO_FRAMES = "jpeg components"
"""Undecodable; all others are too large."""
NUM_ALONE = 20
MOST, NOISE_S = 3.0, 0.25
LONGEST_BOMB_S = 5.0
LONGEST_PAGE_S = 25.0
"""The time limit of a page, once more for a wait after another, and what it takes to end a process."""


@line(
    17,
    "scan, segment, chunk, sub-block and fill-byte bombs of five image formats, and of PDFs, over HTTP",
    "each refused or passed over; a small image and a small page beside them <= 3x + 250 ms",
    sizes=(62, 620),
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log") as server:
        return asyncio.run(_hold(server, size))


async def _hold(server: LiveServer, size: int) -> Result:
    failures: list[str] = []
    alone = {name: await _ask_small(server, name, failures, NUM_ALONE) for name in SMALL}
    waits: dict[str, list[float]] = {name: [] for name in SMALL}
    watching = [asyncio.create_task(_ask_small(server, name, failures, 1 << 30, waits[name])) for name in SMALL]
    names = [name for name, _ in zip(sorted(MADE) * (1 + size // len(MADE)), range(size), strict=False)]
    await asyncio.gather(*(_throw(server, names[which::2], failures) for which in range(2)))
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    told = []
    for name in SMALL:
        alone_s, beside_s = _p90(alone[name]), _p90(waits[name])
        if beside_s > alone_s * MOST + NOISE_S:
            failures.append(f"a small {name} waited")
        times = f"p90 {alone_s * 1e3:.0f} ms alone, {beside_s * 1e3:.0f} ms beside bombs"
        told.append(f"a small {name}: {times} ({len(waits[name])})")
    return Result(size, len(failures), [*failures[:5], *told])


def _p90(waits_s: list[float]) -> float:
    return statistics.quantiles(waits_s, n=10)[-1]


async def _ask_small(
    server: LiveServer, name: str, failures: list[str], num: int, waits_s: list[float] | None = None
) -> list[float]:
    """Ask for one after another, and return how long each took."""
    waits_s = [] if waits_s is None else waits_s
    connection = Connection(server.url)
    for _ in range(num):
        body = {"inputs": [{"content": [SMALL[name]()]}]}
        began_s = time.monotonic()
        answer = await connection.ask(request_bytes("/v1/embeddings", body))
        waits_s.append(time.monotonic() - began_s)
        if answer.status != 200:
            failures.append(f"a small {name} is {answer.status}")
    return waits_s


async def _throw(server: LiveServer, names: list[str], failures: list[str]) -> None:
    connection = Connection(server.url)
    for name in names:
        encoded = await asyncio.to_thread(MADE[name])
        part = page_part(encoded) if name in PAGES else image_part(_url("image/png", encoded))
        request = request_bytes("/v1/embeddings", {"inputs": [{"content": [part]}]})
        began_s = time.monotonic()
        answer = await connection.ask(request)
        took_s = time.monotonic() - began_s
        code = "" if answer.status == 200 else json.loads(answer.body)["error"]["code"]
        if code != _due(name):
            failures.append(f"{name} is {answer.status} {code}")
        if took_s > (LONGEST_PAGE_S if name in PAGES else LONGEST_BOMB_S):
            failures.append(f"{name} took {took_s:.1f} s")


def _due(name: str) -> str:
    if name in PASSED_OVER:
        return ""
    return "media_undecodable" if name == TWO_FRAMES or name in PAGES else "media_too_large"


def _url(kind: str, encoded: bytes) -> str:
    return f"data:{kind};base64," + base64.b64encode(encoded).decode()


def page_part(encoded: bytes) -> dict[str, Any]:
    """The only page of a file, as a part."""
    return {"type": "file", "file": {"file_data": _url("application/pdf", encoded)}}


SEEDS = count()
SMALL: dict[str, Callable[[], dict[str, Any]]] = {
    "image": lambda: image_part(image(next(SEEDS))),
    "page": lambda: page_part(b"%s%% %d" % (raw([b"0 0 30 30 re f"], b"0 0 60 60"), next(SEEDS))),
}
"""None is like another."""
MADE: dict[str, Callable[[], bytes]] = {
    **{name: partial(make, SMALL_FILES.get(name, NUM_BYTES)) for name, make in BOMBS.items()},
    **PAGES,
}
