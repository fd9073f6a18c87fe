"""What fronts show each other through shared memory: rows, their tables, and a front that has died."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from service.front.admission.other_fronts import ALONE, QUEUE
from service.front.admission.shared_counts import (
    NUM_ENTRIES,
    NUM_WAYS,
    ROW_BYTES,
    SharedCounts,
    SharedRows,
    _hash,
)


def fronts(num: int, now_s: list[float] | None = None) -> tuple[SharedRows, list[SharedCounts]]:
    rows = SharedRows(num)
    clock = [0.0] if now_s is None else now_s
    return rows, [SharedCounts(rows.descriptor, index, lambda: clock[0]) for index in range(num)]


def names_of_one_bucket(num: int) -> list[str]:
    names = (f"queue/tenant-{i}" for i in range(100 * NUM_ENTRIES))
    return [name for name, _ in zip((name for name in names if _hash(name)[0] == 7), range(num), strict=False)]


def test_a_front_that_is_alone_sees_nobody() -> None:
    ALONE.show(QUEUE, 5)
    assert (ALONE.num_fronts, ALONE.sums(QUEUE), ALONE.latest(QUEUE)) == (1, None, None)


def test_each_front_sees_the_sum_of_the_others() -> None:
    _, (first, second, third) = fronts(3)
    first.show(QUEUE, 1, 20, 300)
    second.show(QUEUE, 4, 50, 600)
    assert third.sums(QUEUE) == (5, 70, 900, 0)
    assert first.sums(QUEUE) == (4, 50, 600, 0)
    second.show(QUEUE, 0, 0, 0)
    assert third.sums(QUEUE) == (1, 20, 300, 0)
    assert third.num_fronts == 3


def test_names_come_and_go_without_end() -> None:
    _, (first, second) = fronts(2)
    for number in range(20 * NUM_ENTRIES):
        name = f"queue/{number}"
        first.show(name, number + 1)
        assert second.sums(name) == (number + 1, 0, 0, 0)
        first.show(name, 0)
    assert {second.sums(f"queue/{number}") for number in range(20 * NUM_ENTRIES)} == {None, (0, 0, 0, 0)}
    first.show("queue/never", 0)
    assert second.sums("queue/never") is None


def test_a_thousand_names_at_once_are_all_there() -> None:
    _, (first, second) = fronts(2)
    for number in range(1000):
        first.show(f"queue/{number}", number + 1, 2, 3)
    assert [second.sums(f"queue/{number}") for number in range(1000)] == [(n + 1, 2, 3, 0) for n in range(1000)]


def test_a_name_whose_bucket_is_full_is_its_own_fronts_alone_until_there_is_room() -> None:
    _, (first, second) = fronts(2)
    *held, late = names_of_one_bucket(NUM_WAYS + 1)
    for name in held:
        first.show(name, 1)
    first.show(late, 1)
    assert second.sums(late) is None
    assert all(second.sums(name) == (1, 0, 0, 0) for name in held)
    second.show(late, 2)
    assert first.sums(late) == (2, 0, 0, 0)  # each row has room of its own
    first.show(held[3], 0)
    first.show(late, 2)
    assert second.sums(late) == (2, 0, 0, 0)


def test_what_has_a_time_stays_until_it_is_over_and_its_place_is_wanted() -> None:
    now_s = [1.0]
    _, (first, second) = fronts(2, now_s)
    *held, late = names_of_one_bucket(NUM_WAYS + 1)
    for name in held:
        first.show(name, 0, until_ns=3 * 10**9)
    first.show(late, 1)
    assert second.sums(held[0]) == (0, 0, 0, 3 * 10**9)
    assert second.sums(late) is None
    now_s[0] = 4.0
    first.show(late, 1)
    assert second.sums(late) == (1, 0, 0, 0)
    assert [second.sums(name) for name in held].count(None) == 1
    for name in held:  # also the one whose place was taken
        first.show(name, 1)
    assert [second.sums(name) for name in held].count(None) == 1


def test_times_are_not_added_and_the_latest_counts() -> None:
    _, (first, second, third) = fronts(3)
    first.show("rate", 10, 7, until_ns=2_000)
    second.show("rate", 20, 8, until_ns=1_000)
    assert third.sums("rate") == (30, 15, 0, 2_000)
    assert third.latest("rate") == (10, 7, 0, 2_000)
    assert third.latest("key/unknown") is None


def test_a_front_that_has_died_is_forgotten_and_its_successor_begins_with_nothing() -> None:
    rows, (first, second) = fronts(2)
    second.show(QUEUE, 9, 9, 9)
    second.show("queue/acme", 9)
    rows.clear(1)
    assert first.sums("queue/acme") is None
    assert first.sums(QUEUE) == (0, 0, 0, 0)
    again = SharedCounts(rows.descriptor, 1)
    again.show(QUEUE, 1)
    again.show("queue/acme", 2)
    assert (first.sums(QUEUE), first.sums("queue/acme")) == ((1, 0, 0, 0), (2, 0, 0, 0))
    first.show(QUEUE, 3)
    assert again.sums(QUEUE) == (3, 0, 0, 0)


OTHER_PROCESS = """
import sys
from service.front.admission.shared_counts import SharedCounts
counts = SharedCounts(int(sys.argv[1]), 1)
for line in sys.stdin:
    verb, name, *numbers = line.split()
    if verb == "show":
        counts.show(name, *map(int, numbers))
    print(counts.sums(name), flush=True)
"""


@contextmanager
def other_process(rows: SharedRows) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", OTHER_PROCESS, str(rows.descriptor)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, pass_fds=[rows.descriptor]) as child:
        try:
            yield child
        finally:
            child.kill()


def ask(child: subprocess.Popen[str], line: str) -> str:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(line + "\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def test_two_processes_see_each_other_and_one_that_is_killed_is_forgotten() -> None:
    rows = SharedRows(2)
    mine = SharedCounts(rows.descriptor, 0)
    with other_process(rows) as child:
        mine.show(QUEUE, 1, 2, 3)
        assert ask(child, "show queue 40 50 60") == "(1, 2, 3, 0)"
        assert ask(child, "show queue/acme 4 5 6") == "None"
        assert mine.sums(QUEUE) == (40, 50, 60, 0)
        assert mine.sums("queue/acme") == (4, 5, 6, 0)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert mine.sums(QUEUE) == (40, 50, 60, 0)  # nobody gives back what it held
    rows.clear(1)
    assert mine.sums(QUEUE) == (0, 0, 0, 0)
    with other_process(rows) as child:
        assert ask(child, "sums queue") == "(1, 2, 3, 0)"
        assert mine.sums(QUEUE) == (0, 0, 0, 0)


@pytest.mark.parametrize("num_fronts", [1, 2, 16])
def test_a_row_is_small(num_fronts: int) -> None:
    rows, counts = fronts(num_fronts)
    assert counts[0].num_fronts == num_fronts
    assert ROW_BYTES // 1024 == 160
    counts[0].show(QUEUE, 1)
    assert [one.sums(QUEUE) for one in counts[1:]] == [(1, 0, 0, 0)] * (num_fronts - 1)
    rows.clear(0)
