"""Rounds: everybody once in each, in changing order, and warm-up does not count."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.bench import rounds
from tests.bench.rounds import Case, in_turn, interleave, same
from tests.bench.work import Work


class Recorder:
    """A side that keeps a diary shared with others and says how many runs there have been."""

    def __init__(self, diary: list[str]) -> None:
        self.diary = diary
        self.num_runs = 0

    def prepare(self, label: str, work: Work) -> None:
        self.diary.append(f"prepare {label} {work.concurrency}")

    def run(self, label: str) -> float:
        self.diary.append(f"run {label}")
        self.num_runs += 1
        return float(self.num_runs)

    def vectors(self, label: str) -> Sequence[NDArray[np.float32]]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def numbered(turn: int) -> Work:
    return Work([], concurrency=turn)


def test_two_sides_alternate_who_is_first() -> None:
    diary: list[str] = []
    cases = [Case(name, Recorder(diary), same(Work([]))) for name in "AB"]
    spent = interleave(cases, num_rounds=4, num_warm=0)
    assert diary == ["prepare A 1", "prepare B 1", *(f"run {name}" for name in "ABBABAAB")]
    assert spent == {"A": [1, 2, 3, 4], "B": [1, 2, 3, 4]}


def test_over_many_rounds_everybody_stands_everywhere_equally_often() -> None:
    places = Counter((name, place) for turn in range(12) for place, name in enumerate(in_turn("ABC", turn)))
    assert set(places.values()) == {4}
    assert all(sorted(in_turn("ABC", turn)) == list("ABC") for turn in range(12))


def test_warm_up_rounds_run_and_do_not_count() -> None:
    spent = interleave([Case("A", Recorder([]), same(Work([])))], num_rounds=2, num_warm=3)
    assert spent == {"A": [4, 5]}


def test_fresh_work_is_prepared_in_every_round_and_other_work_once() -> None:
    diary: list[str] = []
    cases = [Case("new", Recorder(diary), numbered, is_fresh=True), Case("old", Recorder(diary), numbered)]
    interleave(cases, num_rounds=2, num_warm=1)
    assert [line for line in diary if line.startswith("prepare")] == [
        "prepare old 0", "prepare new 0", "prepare new 1", "prepare new 2"
    ]  # fmt: skip


def test_no_turn_begins_while_a_side_still_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MAX_REST_S", 0.5)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        began_s = time.monotonic()
        rounds.rest()
        waited_s = time.monotonic() - began_s
        busy.kill()
    assert waited_s >= 0.5
