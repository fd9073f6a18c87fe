"""Honest clients at work: how long each request took, and what was not answered 200."""

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.conftest import LiveServer
from tests.raw_socket import address, is_whole, post


@dataclass(slots=True)
class Pace:
    """Results of honest clients.

    Attributes:
        seconds: of each answer, with the moment it came (`time.monotonic`).
        failures: what was not answered 200.
    """

    seconds: list[tuple[float, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def quantile_ms(self, share: float, begin: float = 0.0, end: float = 1.0) -> float:
        """A quantile of the times, of a part of the run in order.

        Args:
            share: 0.5 is the median.
            begin: where the part begins, 0 to 1.
            end: where it ends.
        """
        part = sorted(s for s, _ in self.seconds[int(len(self.seconds) * begin) : int(len(self.seconds) * end)])
        return part[min(len(part) - 1, int(len(part) * share))] * 1e3 if part else 0.0


async def ask(server: LiveServer, bodies: Sequence[bytes], until_s: float, per_s: float = 0.0, num: int = 4) -> Pace:
    """Send requests on a few connections until a moment.

    Args:
        server: whom to ask.
        bodies: what to ask, in random order.
        until_s: when to end, by `time.monotonic`.
        per_s: requests a second altogether; 0 sends each as soon as the one before is answered.
        num: connections.
    """
    pace = Pace()
    await asyncio.gather(*(_ask(server, bodies, until_s, per_s / num, pace, random.Random(n)) for n in range(num)))
    return pace


async def _ask(
    server: LiveServer, bodies: Sequence[bytes], until_s: float, per_s: float, pace: Pace, dice: random.Random
) -> None:
    reader, writer = await asyncio.open_connection(*address(server))
    due_s = time.monotonic() + dice.random() / max(per_s, 1)
    while (now_s := time.monotonic()) < until_s:
        if per_s:
            await asyncio.sleep(max(0.0, due_s - now_s))
            due_s += dice.expovariate(per_s)
        began_s, heard = time.monotonic(), b""
        writer.write(post("/v1/embeddings", dice.choice(bodies)))
        with contextlib.suppress(OSError):
            while not is_whole(heard) and (received := await reader.read(1 << 16)):
                heard += received
        if heard[9:12] != b"200":
            pace.failures.append(f"an honest request was answered {heard[:200]!r}")
            writer.close()
            reader, writer = await asyncio.open_connection(*address(server))
        pace.seconds.append((time.monotonic() - began_s, time.monotonic()))
    writer.close()


def texts(num: int) -> list[bytes]:
    """Bodies with a text each."""
    return [json.dumps({"input": f"text number {n} of many"}).encode() for n in range(num)]
