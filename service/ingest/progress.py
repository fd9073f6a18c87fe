"""Progress output: a bar on a terminal, JSON lines with `--json`, otherwise one line at the end."""

import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from service.ingest.errors import PASSING_CODES, load

RATE_WINDOW_S = 15.0
"""Window of the rate."""


@dataclass(slots=True)
class RunCounts:
    """Counters of a run.

    Attributes:
        points: vectors written, and marked in the ledger.
        already: vectors written by earlier runs.
        repeated: vectors of this run that occur again in the source.
        failed: items in the dead-letter file, those of earlier runs included.
        relabelled: vectors that stayed, while other metadata were written.
        pruned: vectors that were taken out of the store.
        left_out: files of a folder whose kind the model does not take.
        hits: images whose features the server had cached.
        waited_s: seconds of pauses, asked for by the server or by backoff.
        total: approximate number of vectors of the source; None if unknown.
    """

    points: int = 0
    already: int = 0
    repeated: int = 0
    failed: int = 0
    relabelled: int = 0
    pruned: int = 0
    left_out: int = 0
    hits: int = 0
    misses: int = 0
    waited_s: float = 0.0
    total: int | None = None

    @property
    def needless(self) -> int:
        """Vectors that need no request."""
        return self.already + self.repeated


class PointRate:
    """Recent points a second, and the time left at that rate."""

    def __init__(self, counts: RunCounts) -> None:
        self._counts = counts
        self._start_s = time.monotonic()
        self._seen = deque([(self._start_s, 0)])

    @property
    def elapsed_s(self) -> float:
        """Since the start."""
        return time.monotonic() - self._start_s

    def now(self) -> tuple[float, float | None]:
        """Points a second, and seconds left if known."""
        now_s = time.monotonic()
        self._seen.append((now_s, self._counts.points))
        while len(self._seen) > 2 and self._seen[1][0] < now_s - RATE_WINDOW_S:
            self._seen.popleft()
        then_s, before = self._seen[0]
        rate = (self._counts.points - before) / max(now_s - then_s, 1e-3)
        if self._counts.total is None or not rate:
            return rate, None
        return rate, max(0, self._counts.total - self._counts.points - self._counts.needless) / rate


@dataclass(frozen=True, slots=True)
class Failures:
    """The dead letters at the end of a run: where they are, and the number of items by code, the largest first."""

    path: str
    by_code: Mapping[str, int]

    def __str__(self) -> str:
        """Their numbers, the file, and the flags that would help."""
        numbers = ", ".join(f"{number} {code}" for code, number in self.by_code.items())
        hints = dict.fromkeys(HINTS[code] for code in self.by_code if code in HINTS)
        return "; ".join([f"{numbers}: see {self.path}", *hints])


NO_FAILURES = Failures("", {})
AGAIN = "--retry-failed tries those again that may pass"
HINTS = {
    "context_length_exceeded": "--retry-failed --truncate cuts what is too long",
    "content_changed": "--update replaces what has changed, in a store",
    "unsupported_modality": "--model names one that takes them, for another --to",
    **dict.fromkeys(sorted({*PASSING_CODES, "connection_lost", "unreadable_file"}), AGAIN),
}
"""What helps against failures of a code."""


def say(words: str) -> None:
    """Print a line on stderr, at a terminal above the bar."""
    line = f"cenote ingest: {words}"
    if sys.stderr.isatty():
        load("tqdm", "ingest").tqdm.write(line, file=sys.stderr)
    else:
        print(line, file=sys.stderr, flush=True)


class Progress:
    """One line on stderr, at the end: the output where nobody watches, and the base of the others.

    Attributes:
        failures: what the end says of them.
    """

    def __init__(self, counts: RunCounts) -> None:
        self._counts = counts
        self._rate = PointRate(counts)
        self._has_begun = False
        self.failures = NO_FAILURES

    def tell(self) -> None:
        """Show the progress: here, remember that the run has started."""
        self._has_begun = True

    def end(self, code: int, why: str) -> None:
        """Show the end, the exit code, and why the run stopped early: here, a summary if the run has started."""
        counts = self._counts
        if self._has_begun:
            rate = counts.points / max(self._rate.elapsed_s, 1e-3)
            parts = [
                f"{counts.points} vectors written in {self._rate.elapsed_s:.1f} s ({rate:.1f} a second)",
                f"{counts.already} were there",
                *([f"{counts.repeated} came again"] if counts.repeated else []),
                *([f"{counts.relabelled} got other metadata"] if counts.relabelled else []),
                *([f"{counts.pruned} were taken out"] if counts.pruned else []),
                *([f"{counts.left_out} files were left out"] if counts.left_out else []),
                f"{counts.failed} items failed",
                f"cache {counts.hits} hits, {counts.misses} misses",
            ]
            print(f"cenote ingest: {'; '.join(parts)}", file=sys.stderr)
        if self.failures.by_code:
            print(f"cenote ingest: {self.failures}", file=sys.stderr)
        if why:
            print(f"cenote ingest: {why}", file=sys.stderr)


class JsonProgress(Progress):
    """JSON lines on stdout: `event` is `progress`, or `end` with `exit_code` and `why`."""

    def tell(self) -> None:
        """One line."""
        rate, eta_s = self._rate.now()
        self._print({"event": "progress"}, rate, eta_s and round(eta_s, 1))

    def end(self, code: int, why: str) -> None:
        """The last line."""
        rate = self._counts.points / max(self._rate.elapsed_s, 1e-3)
        failures = {"dead_letters": self.failures.path, "failed_by_code": self.failures.by_code}
        self._print({"event": "end", "exit_code": code, "why": why} | failures, rate)

    def _print(self, fields: dict[str, Any], rate: float, eta_s: float | None = None) -> None:
        numbers = {"elapsed_s": round(self._rate.elapsed_s, 3), "rate": round(rate, 3), "eta_s": eta_s}
        line = fields | asdict(self._counts) | numbers
        sys.stdout.buffer.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.flush()


class BarProgress(Progress):
    """A tqdm bar on stderr, with cache hits and failures."""

    def __init__(self, counts: RunCounts) -> None:
        super().__init__(counts)
        tqdm = load("tqdm", "ingest").tqdm
        self._bar: Any = tqdm(unit="vec", file=sys.stderr, dynamic_ncols=True, smoothing=0.1, initial=0)

    def tell(self) -> None:
        """Draw it."""
        super().tell()
        counts = self._counts
        if self._bar.initial != counts.needless:  # earlier vectors count as done, but not in the rate
            self._bar.initial, self._bar.n = counts.needless, counts.needless + counts.points
        self._bar.total = counts.total
        images = counts.hits + counts.misses
        share = f"{counts.hits / images:.0%}" if images else "-"
        waited = {"waited": f"{counts.waited_s:.0f}s"} if counts.waited_s >= 1 else {}
        self._bar.set_postfix({"hits": share, "failed": counts.failed} | waited, refresh=False)
        self._bar.update(counts.needless + counts.points - self._bar.n)
        self._bar.refresh()

    def end(self, code: int, why: str) -> None:
        """Close the bar and print the summary below it."""
        if self._has_begun:
            self.tell()
        self._bar.leave = self._has_begun
        self._bar.close()
        super().end(code, why)


def make_progress(counts: RunCounts, *, json: bool) -> Progress:
    """JSON with `--json`, a bar if stderr is a terminal, otherwise one line at the end."""
    if json:
        return JsonProgress(counts)
    return BarProgress(counts) if sys.stderr.isatty() else Progress(counts)
