"""Small requests alone, and amidst a flood that is never answered in this time: what lines of fairness share."""

import asyncio
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tests.conftest import LiveServer
from tests.scoreboard.lines.raw_http import Connection

TIMES_ALONE = 3.0
MORE_S = 0.25


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds of a small request alone, the median, and of each amidst the flood."""

    alone_s: float
    amidst_s: list[float]

    @property
    def is_too_long(self) -> bool:
        """By the longest: one that waits for all of the flood leaves none for those after it."""
        return max(self.amidst_s) > TIMES_ALONE * self.alone_s + MORE_S

    def __str__(self) -> str:
        usual_ms, longest_ms = statistics.median(self.amidst_s) * 1e3, max(self.amidst_s) * 1e3
        return f"{usual_ms:.0f} ms, {longest_ms:.0f} at most, {self.alone_s * 1e3:.0f} alone"


async def measure(
    server: LiveServer, small: Callable[[], bytes], flood: Callable[[], Sequence[bytes]], size: int, settle_s: float
) -> Waits:
    """Ask so many small requests alone, and as many once the flood has been sent and has settled."""
    victim = Connection(server.url)
    await victim.timed(small())  # warm
    alone_s = statistics.median([await victim.timed(small()) for _ in range(size)])
    bodies = flood()
    sent = [asyncio.Event() for _ in bodies]
    flooding = [asyncio.create_task(_send(server, *one)) for one in zip(bodies, sent, strict=True)]
    await asyncio.gather(*(event.wait() for event in sent))
    await asyncio.sleep(settle_s)
    amidst_s = []
    for _ in range(size):
        assert not all(task.done() for task in flooding), "the flood was over before the measurement"
        amidst_s.append(await victim.timed(small()))
    for task in flooding:
        task.cancel()
    await asyncio.gather(*flooding, return_exceptions=True)
    victim.close()
    return Waits(alone_s, amidst_s)


async def _send(server: LiveServer, request: bytes, sent: asyncio.Event) -> None:
    """Send a request, and wait for its answer as long as anybody likes."""
    connection = Connection(server.url)
    reader, writer = await connection.open()
    writer.write(request)
    await writer.drain()
    sent.set()
    with suppress(OSError):
        await reader.read(1)
    connection.close()
