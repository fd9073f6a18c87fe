"""Hostile clients at work beside the honest: malformed requests, images that are none, and hanging up."""

import asyncio
import base64
import contextlib
import json
import random
import time
from collections import Counter

from tests.conftest import LiveServer, image, image_part
from tests.raw_socket import address, is_whole, post
from tests.scoreboard.json_seeds import WORDS, seeds
from tests.scoreboard.mutant import mutate

LONGEST_S = 5.0


def _bodies() -> list[bytes]:
    """Right requests: examples, and images of a few kilobytes."""
    images = [{"inputs": [{"content": [image_part(image(n, kind=kind))]}]} for n, kind in enumerate(("PNG", "JPEG"))]
    return [
        *(post(path, raw) for path, raw in seeds()),
        *(post("/v1/embeddings", json.dumps(b).encode()) for b in images),
    ]


def _broken_image(dice: random.Random) -> bytes:
    encoded = base64.b64decode(image(dice.randrange(4), kind=dice.choice(("PNG", "JPEG", "WEBP"))).partition(",")[2])
    url = "data:image/png;base64," + base64.b64encode(mutate(dice, encoded, (b"\x00\xff",))).decode()
    return post("/v1/embeddings", json.dumps({"inputs": [{"content": [image_part(url)]}]}).encode())


async def attack(server: LiveServer, until_s: float, per_s: float) -> Counter[str]:
    """Attack until a moment.

    Args:
        server: whom to attack.
        until_s: when to end, by `time.monotonic`.
        per_s: attacks a second.

    Returns:
        How often each status was answered; `` where none was.
    """
    dice, statuses, originals = random.Random("hostile"), Counter[str](), _bodies()
    running: set[asyncio.Task[None]] = set()
    due_s = time.monotonic()
    while time.monotonic() < until_s:
        raw = _broken_image(dice) if dice.random() < 0.3 else mutate(dice, dice.choice(originals), WORDS)
        task = asyncio.create_task(_strike(server, raw, statuses, hangs_up=dice.random() < 0.3))
        running.add(task)
        task.add_done_callback(running.discard)
        due_s += dice.expovariate(per_s)
        await asyncio.sleep(max(0.0, due_s - time.monotonic()))
    await asyncio.gather(*running)
    return statuses


async def _strike(server: LiveServer, raw: bytes, statuses: Counter[str], *, hangs_up: bool) -> None:
    heard = b""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(LONGEST_S):
            reader, writer = await asyncio.open_connection(*address(server))
            try:
                writer.write(raw)
                await writer.drain()
                while not hangs_up and not is_whole(heard) and (received := await reader.read(1 << 16)):
                    heard += received
            finally:
                writer.close()
    statuses[heard[9:12].decode(errors="replace")] += 1
