"""Image files that are cheap to send and dear to decode: each is refused or passed over, and a small image never waits.

Bombs come from two clients at once; a third asks for one small image after another, none of them alike.
"""

import asyncio
import base64
import contextlib
import json
import statistics
import time
from itertools import count
from pathlib import Path

from tests.conftest import CHECKPOINT, LiveServer, image, image_part
from tests.media_bombs import BOMBS
from tests.scoreboard.line import Line, Result, Sabotage
from tests.scoreboard.lines.raw_http import Connection, request_bytes

NUM_BYTES = 5_000_000
SMALL_FILES = {"jpeg scans": 60_000, "bmp lines": 12_000}
"""Bombs that need no more."""
PASSED_OVER = {
    "jpeg exif parts", "jpeg fill bytes between scans", "png profiles", "png texts", "png exif", "gif long sub-blocks",
}  # fmt: skip
"""What no decoder sees: answered as the small image that it is."""
TWO_FRAMES = "jpeg components"
"""Undecodable; all others are too large."""
NUM_ALONE = 20
MOST, NOISE_S = 3.0, 0.25
LONGEST_BOMB_S = 5.0


def _run(size: int, folder: Path) -> Result:
    server = LiveServer(folder / "bombs.log", "--model", str(CHECKPOINT)).wait_until_ready()
    try:
        return asyncio.run(_hold(server, size))
    finally:
        server.stop()


async def _hold(server: LiveServer, size: int) -> Result:
    failures: list[str] = []
    seeds = count()
    waits_s: list[float] = []
    await _ask_small(server, seeds, waits_s, failures, NUM_ALONE)
    alone_s = statistics.quantiles(waits_s, n=10)[-1]
    waits_s.clear()
    watching = asyncio.create_task(_ask_small(server, seeds, waits_s, failures, 1 << 30))
    names = [name for name, _ in zip(sorted(BOMBS) * (1 + size // len(BOMBS)), range(size), strict=False)]
    await asyncio.gather(*(_throw(server, names[which::2], failures) for which in range(2)))
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    beside_s = statistics.quantiles(waits_s, n=10)[-1]
    if beside_s > alone_s * MOST + NOISE_S:
        failures.append("a small image waited")
    told = f"a small image: p90 {alone_s * 1e3:.0f} ms alone, {beside_s * 1e3:.0f} ms beside bombs ({len(waits_s)})"
    return Result(size, len(failures), [*failures[:5], told])


async def _ask_small(
    server: LiveServer, seeds: "count[int]", waits_s: list[float], failures: list[str], num: int
) -> None:
    connection = Connection(server.url)
    for _ in range(num):
        body = {"inputs": [{"content": [image_part(image(next(seeds)))]}]}
        began_s = time.monotonic()
        answer = await connection.ask(request_bytes("/v1/embeddings", body))
        waits_s.append(time.monotonic() - began_s)
        if answer.status != 200:
            failures.append(f"a small image is {answer.status}")


async def _throw(server: LiveServer, names: list[str], failures: list[str]) -> None:
    connection = Connection(server.url)
    for name in names:
        encoded = await asyncio.to_thread(BOMBS[name], SMALL_FILES.get(name, NUM_BYTES))
        url = "data:image/png;base64," + base64.b64encode(encoded).decode()
        raw = request_bytes("/v1/embeddings", {"inputs": [{"content": [image_part(url)]}]})
        began_s = time.monotonic()
        answer = await connection.ask(raw)
        took_s = time.monotonic() - began_s
        code = "" if answer.status == 200 else json.loads(answer.body)["error"]["code"]
        due = "" if name in PASSED_OVER else "media_undecodable" if name == TWO_FRAMES else "media_too_large"
        if code != due:
            failures.append(f"{name} is {answer.status} {code}")
        if took_s > LONGEST_BOMB_S:
            failures.append(f"{name} took {took_s:.1f} s")


LINE = Line(
    number=17,
    name="media_bombs",
    measure="scan, segment, chunk, sub-block and fill-byte bombs of five image formats over HTTP",
    must="each refused or passed over; a small image beside them <= 3x + 250 ms",
    ci=54,
    nightly=540,
    run=_run,
    sabotages=(
        Sabotage(
            "scans are not counted",
            "service/media/image/jpeg.py",
            "            if num_scans > MAX_SCANS:",
            "            if False:",
            27,
        ),
        Sabotage(
            "chunks have no bound",
            "service/media/image/parts.py",
            "MAX_PARTS = 1 << 15",
            "MAX_PARTS = 1 << 30",
            27,
        ),
        Sabotage(
            "run-length coded images have no bound",
            "service/media/image/png_gif_webp_bmp.py",
            "    if _number(encoded, 30) in _RUN_LENGTH:",
            "    if False:",
            27,
        ),
    ),
)
