"""What a run says while it goes: a bar at a terminal, JSON lines for programs, else nothing until the end."""

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import orjson

from service.ingest.extra import load

RATE_WINDOW_S = 15.0
"""The rate is that of the last so many seconds."""


@dataclass(slots=True)
class Counts:
    """What has become of the items of this run so far.

    Attributes:
        points: vectors written, and marked in the ledger.
        already: vectors that were there before this run.
        repeated: vectors of this run that the source asks for once more.
        failed: items in the dead-letter file, those of former runs included.
        hits: pictures whose vision features the server had.
        misses: pictures that it encoded.
        waited_s: pauses that the server asked for, or that it needed.
        total: vectors that there will be, about; None where that is not known.
    """

    points: int = 0
    already: int = 0
    repeated: int = 0
    failed: int = 0
    hits: int = 0
    misses: int = 0
    waited_s: float = 0.0
    total: int | None = None

    @property
    def needless(self) -> int:
        """Vectors that this run need not ask for, or not again."""
        return self.already + self.repeated


class Rate:
    """Points a second of the last while, and how long the rest will take at that."""

    def __init__(self, counts: Counts, clock: Callable[[], float] = time.monotonic) -> None:
        self._counts = counts
        self._clock = clock
        self._start_s = clock()
        self._seen = deque([(self._start_s, 0)])

    @property
    def elapsed_s(self) -> float:
        """Since the start."""
        return self._clock() - self._start_s

    def now(self) -> tuple[float, float | None]:
        """Points a second, and seconds to the end where that is known."""
        now_s = self._clock()
        self._seen.append((now_s, self._counts.points))
        while len(self._seen) > 2 and self._seen[1][0] < now_s - RATE_WINDOW_S:
            self._seen.popleft()
        then_s, before = self._seen[0]
        rate = (self._counts.points - before) / max(now_s - then_s, 1e-3)
        if self._counts.total is None or not rate:
            return rate, None
        return rate, max(0, self._counts.total - self._counts.points - self._counts.needless) / rate


class Progress(Protocol):
    """Told now and then, and at the end."""

    def tell(self, counts: Counts) -> None:
        """Show how far it is."""
        ...

    def end(self, counts: Counts, code: int, why: str) -> None:
        """Show how it ended, with the exit code and, where it stopped before the end, why."""
        ...


class JsonProgress:
    """A line of JSON on stdout each time: `event` is `progress`, or `end` with `exit_code` and `why`."""

    def __init__(self, counts: Counts) -> None:
        self._rate = Rate(counts)

    def tell(self, counts: Counts) -> None:
        """One line."""
        self._print(counts, event="progress")

    def end(self, counts: Counts, code: int, why: str) -> None:
        """The last line."""
        self._print(counts, event="end", exit_code=code, why=why)

    def _print(self, counts: Counts, **fields: Any) -> None:
        rate, eta_s = self._rate.now()
        elapsed_s = self._rate.elapsed_s
        if fields["event"] == "end":
            rate, eta_s = counts.points / max(elapsed_s, 1e-3), None
        numbers = {"elapsed_s": round(elapsed_s, 3), "rate": round(rate, 3), "eta_s": eta_s and round(eta_s, 1)}
        sys.stdout.buffer.write(orjson.dumps(fields | asdict(counts) | numbers, option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.flush()


class QuietProgress:
    """One line on stderr, at the end."""

    def __init__(self, counts: Counts) -> None:
        self._rate = Rate(counts)
        self._has_begun = False

    def tell(self, counts: Counts) -> None:
        """Nothing but that the run has begun."""
        self._has_begun = True

    def end(self, counts: Counts, code: int, why: str) -> None:
        """What has become of everything, once there was anything; and why it stopped."""
        if self._has_begun:
            self._sum_up(counts)
        if why:
            print(f"cenote ingest: {why}", file=sys.stderr)

    def _sum_up(self, counts: Counts) -> None:
        rate = counts.points / max(self._rate.elapsed_s, 1e-3)
        parts = [
            f"{counts.points} vectors written in {self._rate.elapsed_s:.1f} s ({rate:.1f} a second)",
            f"{counts.already} were there",
            *([f"{counts.repeated} came again"] if counts.repeated else []),
            f"{counts.failed} items failed",
            f"cache {counts.hits} hits, {counts.misses} misses",
        ]
        print(f"cenote ingest: {'; '.join(parts)}", file=sys.stderr)


class BarProgress(QuietProgress):
    """tqdm's bar on stderr: part done, rate and time left are its own, hits and failures behind them."""

    def __init__(self, counts: Counts) -> None:
        super().__init__(counts)
        tqdm = load("tqdm", "ingest").tqdm
        self._bar: Any = tqdm(unit="vec", file=sys.stderr, dynamic_ncols=True, smoothing=0.1, initial=0)

    def tell(self, counts: Counts) -> None:
        """Draw it."""
        super().tell(counts)
        if self._bar.initial != counts.needless:  # what was there counts as done, and not in the rate
            self._bar.initial, self._bar.n = counts.needless, counts.needless + counts.points
        self._bar.total = counts.total
        pictures = counts.hits + counts.misses
        share = f"{counts.hits / pictures:.0%}" if pictures else "-"
        waited = {"waited": f"{counts.waited_s:.0f}s"} if counts.waited_s >= 1 else {}
        self._bar.set_postfix({"hits": share, "failed": counts.failed} | waited, refresh=False)
        self._bar.update(counts.needless + counts.points - self._bar.n)
        self._bar.refresh()

    def end(self, counts: Counts, code: int, why: str) -> None:
        """Leave the bar as it is, and the line below it."""
        if self._has_begun:
            self.tell(counts)
        self._bar.leave = self._has_begun
        self._bar.close()
        super().end(counts, code, why)


def make_progress(counts: Counts, *, json: bool) -> Progress:
    """What fits: JSON where it is asked for, a bar where somebody looks.

    Raises:
        IngestError: tqdm is not installed.
    """
    if json:
        return JsonProgress(counts)
    return BarProgress(counts) if sys.stderr.isatty() else QuietProgress(counts)
