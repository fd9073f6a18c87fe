"""Trust in an engine: the watchdog of its silence, the breaker of its restarts. Has no clock."""

import math
from collections import deque
from collections.abc import Iterable

from service.ipc.messages import StepKind, StepStarted

FACTOR = 5.0
"""A step may take so many times the 99th percentile of its like."""
NUM_REMEMBERED = 128
"""Steps of each kind and size; of so many, the 99th percentile is the slowest but one."""

UNKNOWN_S = 12.0
"""Expected seconds of a step before any of its kind was seen: the first touches every weight."""
FAR_DOUBLINGS = 4
"""A step of sixteen times the tokens of the largest below it that was seen is an unknown one."""


WINDOW_S = 60.0
"""In which the breaker counts an engine's ends."""


class Breaker:
    """Closed: engines are restarted. Open: one is tried after a while (half open); only if it lives, all is forgotten.

    Source: M. Nygard, "Release It!", circuit breaker.
    """

    def __init__(self, max_deaths: int, *, window_s: float = WINDOW_S) -> None:
        self._max_deaths = max_deaths
        self._window_s = window_s
        self._deaths: deque[float] = deque()
        self._is_trial = False

    def died(self, now_s: float, lived_s: float) -> bool:
        """Count the end of an engine that was ready for `lived_s`, and return whether the breaker is open now."""
        if lived_s >= self._window_s:
            self._is_trial = False
        self._deaths.append(now_s)
        while now_s - self._deaths[0] >= self._window_s:
            self._deaths.popleft()
        if self._is_trial or len(self._deaths) >= self._max_deaths:
            self._deaths.clear()
            self._is_trial = True
        return self._is_trial


class Watchdog:
    """Counts the silence of engines; the limit is a floor, or 5 times what the slowest steps of that size took.

    Silence is counted in ticks of the keeper's own clock and no tick counts for more than `max_tick_s`: a process that
    was itself stopped, or whose loop was busy, has not listened meanwhile, and must not blame the engine.

    A step of a large model on a CPU may take a minute, and a stuck device looks just like it. So the limit is learned
    from past steps, by kind and in buckets of sizes that double.

    Attributes:
        silence_s: how long the engine was silent while the keeper was listening.
        step: that the engine has entered; None between two.
    """

    def __init__(self, floor_s: float, *, max_tick_s: float = 1.0) -> None:
        self.silence_s = 0.0
        self.step: StepStarted | None = None
        self._floor_s = floor_s
        self._max_tick_s = max_tick_s
        self._seconds: dict[tuple[StepKind, int], deque[float]] = {}

    @property
    def limit_s(self) -> float:
        """Seconds that it may be silent now."""
        if self.step is None:
            return self._floor_s
        return max(self._floor_s, FACTOR * self.expected_s(self.step.kind, self.step.num_tokens))

    def heard(self, now_s: float, after: int) -> None:
        """The engine has said something; steps up to the number `after` are over. It may be in a later one."""
        self.silence_s = 0.0
        if self.step is not None and self.step.number <= after:
            size = (self.step.kind, self.step.num_tokens.bit_length())
            seconds = self._seconds.setdefault(size, deque(maxlen=NUM_REMEMBERED))
            seconds.append(now_s - self.step.began_s)
            self.step = None

    def tick(self, elapsed_s: float) -> bool:
        """So much time has passed in silence; whether the engine counts as stuck."""
        self.silence_s += min(elapsed_s, self._max_tick_s)
        return self.silence_s > self.limit_s

    def expected_s(self, kind: StepKind, num_tokens: int) -> float:
        """Most seconds that a step of this size takes, so far as is known.

        From the nearest bucket at or below its size: a step twice as large takes twice as long. Where attention's
        square shows, the factor of 5 covers it until a step of this size has been seen. Far beyond all that was seen it
        would not, and short prompts may have had their beginnings kept: such a step is as good as unknown.
        """
        size = num_tokens.bit_length()
        known = [at for of, at in self._seconds if of == kind]
        below = max((at for at in known if at <= size), default=None)
        if below is not None:
            expected_s = _slow(self._seconds[kind, below]) * float(2 ** (size - below))
            return max(expected_s, UNKNOWN_S) if size - below >= FAR_DOUBLINGS else expected_s
        return _slow(self._seconds[kind, min(known)]) if known else UNKNOWN_S


def _slow(seconds: Iterable[float]) -> float:
    ordered = sorted(seconds)
    return ordered[math.ceil(0.99 * len(ordered)) - 1]
