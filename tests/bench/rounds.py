"""Interleaved measuring: every side once in each round, in another order each time, so that drift meets all alike."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.bench.sides.side import Side
from tests.bench.work import Work

SETTLE_S = 0.02
"""Between two sides: threads of the one that has just ended spin for some milliseconds before they sleep."""

REST_S = 0.05
"""Over which the processors have to be idle before another server's turn, or after it."""
MAX_REST_S = 3.0
"""Longest wait for that: vLLM's threads spin for a second after each request."""
BUSY_TICKS = 1
"""Clock ticks, of 10 ms of one core, that count as idle."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that takes part in each round.

    Attributes:
        label: its name in the measurement.
        side: who does it.
        work: what is done in a round, by the round's number; warm-up rounds have numbers of their own.
        is_fresh: it is other work in each round. Otherwise that of round 0 is prepared once.
    """

    label: str
    side: Side
    work: Callable[[int], Work]
    is_fresh: bool = False


def same(work: Work) -> Callable[[int], Work]:
    """The same work in each round."""
    return lambda _: work


def in_turn(cases: Sequence[T], turn: int) -> list[T]:
    """Their order in a round: forwards, backwards, then the same with the next one first."""
    forwards = list(cases) if turn % 2 == 0 else list(reversed(cases))
    shift = turn // 2 % len(forwards)
    return forwards[shift:] + forwards[:shift]


def rest() -> None:
    """Wait until the processors are idle, or for `MAX_REST_S`. Source: proc(5), `/proc/stat`."""
    end_s = time.monotonic() + MAX_REST_S
    while time.monotonic() < end_s:
        before = _busy_ticks()
        time.sleep(REST_S)
        if _busy_ticks() - before <= BUSY_TICKS:
            return


def _busy_ticks() -> int:
    """Ticks of all cores in processes and in the kernel, since the machine started."""
    user, nice, system, *_ = Path("/proc/stat").read_text().split(maxsplit=4)[1:4]
    return int(user) + int(nice) + int(system)


def interleave(
    cases: Sequence[Case], num_rounds: int, num_warm: int = 1, *, rests: bool = False
) -> dict[str, list[float]]:
    """Seconds of each case in each round.

    Args:
        cases: what takes part.
        num_rounds: rounds that count.
        num_warm: rounds before them that do not.
        rests: the processors come to rest before each side: for sides that are not ours, which may spin for long.
    """
    for case in cases:
        if not case.is_fresh:
            case.side.prepare(case.label, case.work(0))
    spent: dict[str, list[float]] = {case.label: [] for case in cases}
    for turn in range(num_warm + num_rounds):
        for case in in_turn(cases, turn):
            if case.is_fresh:
                case.side.prepare(case.label, case.work(turn))
            time.sleep(SETTLE_S)
            if rests:
                rest()
            seconds = case.side.run(case.label)
            if turn >= num_warm:
                spent[case.label].append(seconds)
    return spent
