"""Cases in processes side by side: what a case does to its process is seen, and one that ends it counts as failed."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.scoreboard.line import Result

NUM_PROCESSES = 2
CHUNK = 500
"""Cases of one seed: case `i` is the same whatever the size of the run."""
MAX_CASE_S = 2.0
MAX_GROWTH_BYTES = 256 << 20

Chunk = Callable[[int, int], "Found"]
"""Runs cases `start` to `stop`."""


@dataclass(slots=True)
class Found:
    """Results of some cases."""

    num_tried: int = 0
    num_accepted: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count a case and its time: what it computes, since others use this machine too; or far too long a wait."""
        began_s, computed_s = time.monotonic(), time.thread_time()
        yield
        seconds = time.thread_time() - computed_s
        self.num_tried += 1
        if seconds > self.slowest_s:
            self.slowest_s, self.slowest = seconds, what
        if seconds > MAX_CASE_S or time.monotonic() - began_s > 10 * MAX_CASE_S:
            self.failures.append(f"{what} took {seconds:.1f} s")


def side_by_side(size: int, chunk: Chunk) -> Result:
    """Run `size` cases in processes; their stderr, memory and end are part of what is measured."""
    starts = range(0, size, CHUNK)
    with tempfile.TemporaryFile() as stderr:
        with ProcessPoolExecutor(NUM_PROCESSES, get_context("fork"), os.dup2, (stderr.fileno(), 2)) as pool:
            try:
                stops = (min(size, start + CHUNK) for start in starts)
                reports = list(pool.map(partial(_reported, chunk), starts, stops))
            except BrokenProcessPool:
                return Result(size, 1, ["a process ended"])
        stderr_bytes = os.fstat(stderr.fileno()).st_size
    sizes: dict[int, list[int]] = {}
    for _, pid, rss_bytes in reports:  # the first is taken when codecs and seeds are loaded
        sizes.setdefault(pid, []).append(rss_bytes)
    growth = max(each[-1] - each[0] for each in sizes.values())
    found = [one for one, _, _ in reports]
    failures = [failure for one in found for failure in one.failures]
    failures += [f"{stderr_bytes} bytes on stderr"] if stderr_bytes else []
    failures += [f"a process grew by {growth >> 20} MiB"] if growth > MAX_GROWTH_BYTES else []
    num_tried, slowest = sum(one.num_tried for one in found), max(found, key=lambda one: one.slowest_s)
    if num_tried != size:
        failures.append(f"{num_tried} of {size} cases were tried")
    figures = f"{sum(one.num_accepted for one in found)} accepted, slowest {slowest.slowest_s * 1e3:.0f} ms"
    figures += f" ({slowest.slowest}), RSS +{growth >> 20} MiB, {stderr_bytes} B stderr"
    return Result(num_tried, len(failures), [*failures[:6], figures])


def _reported(chunk: Chunk, start: int, stop: int) -> tuple[Found, int, int]:
    found = chunk(start, stop)
    return found, os.getpid(), int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
