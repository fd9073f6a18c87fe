"""Cases in processes side by side: what a case does to its process is seen, and one that ends it counts as failed."""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.scoreboard.line import Result

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


def side_by_side(size: int, chunk: Chunk, num_processes: int = 2, *, max_s: float = 36_000) -> Result:
    """Run `size` cases in processes; their stderr, memory and end are part of what is measured."""
    context = multiprocessing.get_context("fork")
    inboxes = [context.SimpleQueue() for _ in range(num_processes)]
    processes = [
        context.Process(target=_run, args=(chunk, size, number, num_processes, inbox), daemon=True)
        for number, inbox in enumerate(inboxes)
    ]
    for process in processes:
        process.start()
    until_s = time.monotonic() + max_s
    for process in processes:
        process.join(max(0.0, until_s - time.monotonic()))
    reports = [
        inbox.get() if process.exitcode == 0 else None for process, inbox in zip(processes, inboxes, strict=True)
    ]
    died = [process.exitcode for process in processes if process.exitcode != 0]
    return _result(size, [report for report in reports if report is not None], died)


def _result(size: int, reports: list[tuple[Found, int, int]], died: list[int | None]) -> Result:
    failures = [f"a process ended with {code}" for code in died]
    failures += [one for found, _, _ in reports for one in found.failures]
    stderr_bytes, growth = sum(report[1] for report in reports), max((report[2] for report in reports), default=0)
    if stderr_bytes:
        failures.append(f"{stderr_bytes} bytes on stderr")
    if growth > MAX_GROWTH_BYTES:
        failures.append(f"a process grew by {growth >> 20} MiB")
    num_tried = sum(report[0].num_tried for report in reports)
    if num_tried != size and not died:
        failures.append(f"{num_tried} of {size} cases were tried")
    accepted = sum(report[0].num_accepted for report in reports)
    slowest_s, slowest = max(((report[0].slowest_s, report[0].slowest) for report in reports), default=(0.0, ""))
    taken = f"{accepted} accepted, slowest {slowest_s * 1e3:.0f} ms ({slowest})"
    figures = f"{taken}, RSS +{growth >> 20} MiB, {stderr_bytes} B stderr"
    return Result(num_tried, len(failures), [*failures[:6], figures])


def _run(chunk: Chunk, size: int, number: int, step: int, outbox: "multiprocessing.SimpleQueue[object]") -> None:
    with tempfile.TemporaryFile() as stderr:
        os.dup2(stderr.fileno(), 2)
        total, before = Found(), 0
        for place, start in enumerate(range(number * CHUNK, size, step * CHUNK)):
            found = chunk(start, min(size, start + CHUNK))
            total.num_tried += found.num_tried
            total.num_accepted += found.num_accepted
            if found.slowest_s > total.slowest_s:
                total.slowest_s, total.slowest = found.slowest_s, found.slowest
            total.failures += found.failures
            if place == 0:  # codecs and seeds are loaded now
                before = _rss_bytes()
        outbox.put((total, os.fstat(2).st_size, _rss_bytes() - before))


def _rss_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
