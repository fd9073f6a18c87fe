"""The memory and the open files of a server and its engine, over time, and how to tell growth from noise."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.conftest import children_of

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Vitals:
    """Samples of one process.

    Attributes:
        pid: of the process.
        rss: moment in seconds and resident bytes.
        num_files: open descriptors at each moment.
    """

    pid: int
    rss: list[tuple[float, int]] = field(default_factory=list)
    num_files: list[int] = field(default_factory=list)

    def sample(self) -> None:
        """Look once."""
        proc = Path("/proc") / str(self.pid)
        resident = int((proc / "statm").read_text().split()[1]) * PAGE_BYTES
        self.rss.append((time.monotonic(), resident))
        self.num_files.append(len(list((proc / "fd").iterdir())))

    @property
    def risen_mib(self) -> float:
        """From the first sample to the highest."""
        values = [value for _, value in self.rss]
        return (max(values) - values[0]) / (1 << 20)

    def grown_mib(self, warm: float) -> float:
        """From the median of the first fifth after warm-up to that of the last fifth."""
        rest = [value for _, value in self.rss[int(len(self.rss) * warm) :]]
        fifth = max(1, len(rest) // 5)
        return (median(rest[-fifth:]) - median(rest[:fifth])) / (1 << 20)

    def slope_mib_per_h(self, warm: float) -> float:
        """Theil-Sen's slope: the median of the slopes of all pairs, which a few jumps do not move."""
        rest = self.rss[int(len(self.rss) * warm) :]
        thinned = rest[:: max(1, len(rest) // 200)]
        slopes = [
            (later - value) / (moment - at)
            for number, (at, value) in enumerate(thinned)
            for moment, later in thinned[number + 1 :]
        ]
        return median(slopes) * 3600 / (1 << 20) if slopes else 0.0


def processes_of(front: int) -> list[Vitals]:
    """The front and what it started."""
    return [Vitals(front), *(Vitals(pid) for pid in children_of(front))]


async def watch(processes: Sequence[Vitals], until_s: float) -> None:
    """Look once a second until a moment."""
    while time.monotonic() < until_s:
        for process in processes:
            process.sample()
        await asyncio.sleep(1)
