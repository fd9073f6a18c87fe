"""Counts that fronts share through shared memory: rows, their tables, and a front that has died."""

import subprocess
import sys
import time

import pytest

from service.front.admission.shared_table import (
    NUM_ENTRIES,
    NUM_WAYS,
    ROW_BYTES,
    Published,
    SharedRows,
    SharedTable,
    _hash,
)

NOTHING = Published()


def fronts(num: int, now_s: list[float] | None = None) -> tuple[SharedRows, list[SharedTable]]:
    rows = SharedRows(num)
    clock = [0.0] if now_s is None else now_s
    return rows, [SharedTable.inherited(rows.descriptor, index, lambda: clock[0]) for index in range(num)]


def others(table: SharedTable, name: str) -> tuple[int, ...]:
    """The sums of what the others publish, with the latest of their times."""
    *counts, times_ns = zip(*table.others(name), NOTHING, strict=True)
    return (*map(sum, counts), max(times_ns))


def names_of_one_bucket(num: int) -> list[str]:
    names = (f"queue/tenant-{i}" for i in range(100 * NUM_ENTRIES))
    return [name for name, _ in zip((name for name in names if _hash(name)[0] == 7), range(num), strict=False)]


def test_each_front_sees_the_sum_of_the_others_and_one_that_is_alone_nobody() -> None:
    alone, (_, (first, second, third)) = SharedTable.of_one_front(), fronts(3)
    for name in ("queue", "queue/acme"):
        alone.publish(name, 5)
        assert (alone.num_fronts, alone.others(name)) == (1, [])
    first.publish("queue", 1, 20, 300)
    second.publish("queue", 4, 50, 600)
    assert others(third, "queue") == (5, 70, 900, 0, 0)
    assert others(first, "queue") == (4, 50, 600, 0, 0)
    second.publish("queue", 0, 0, 0)
    assert others(third, "queue") == (1, 20, 300, 0, 0)
    assert third.num_fronts == 3


def test_names_come_and_go_without_end() -> None:
    _, (first, second) = fronts(2)
    for number in range(5 * NUM_ENTRIES):
        name = f"queue/{number}"
        first.publish(name, number + 1)
        assert others(second, name) == (number + 1, 0, 0, 0, 0)
        first.publish(name, 0)
    assert {others(second, f"queue/{number}") for number in range(5 * NUM_ENTRIES)} == {NOTHING}
    first.publish("queue/never", 0)
    assert others(second, "queue/never") == NOTHING
    for number in range(1000):  # at once
        first.publish(f"queue/{number}", number + 1, 2, 3)
    assert [others(second, f"queue/{number}") for number in range(1000)] == [(n + 1, 2, 3, 0, 0) for n in range(1000)]


def test_a_name_whose_bucket_is_full_is_its_own_fronts_alone_until_there_is_room() -> None:
    _, (first, second) = fronts(2)
    *held, late = names_of_one_bucket(NUM_WAYS + 1)
    for name in held:
        first.publish(name, 1)
    first.publish(late, 1)
    assert others(second, late) == NOTHING
    assert all(others(second, name) == (1, 0, 0, 0, 0) for name in held)
    second.publish(late, 2)
    assert others(first, late) == (2, 0, 0, 0, 0)  # each row has room of its own
    first.publish(held[3], 0)
    first.publish(late, 2)
    assert others(second, late) == (2, 0, 0, 0, 0)


def test_what_has_a_time_stays_until_it_is_over_and_its_place_is_wanted() -> None:
    now_s = [1.0]
    _, (first, second) = fronts(2, now_s)
    *held, late = names_of_one_bucket(NUM_WAYS + 1)
    for name in held:
        first.publish(name, 0, until_ns=3 * 10**9)
    first.publish(late, 1)
    assert others(second, held[0]) == (0, 0, 0, 0, 3 * 10**9)
    assert others(second, late) == NOTHING
    now_s[0] = 4.0
    first.publish(late, 1)
    assert others(second, late) == (1, 0, 0, 0, 0)
    assert [others(second, name) for name in held].count(NOTHING) == 1
    for name in held:  # also the one whose place was taken
        first.publish(name, 1)
    assert [others(second, name) for name in held].count(NOTHING) == 1


def test_times_are_not_added_and_the_latest_counts() -> None:
    _, (first, second, third) = fronts(3)
    first.publish("rate", 10, 7, until_ns=2_000)
    second.publish("rate", 20, 8, until_ns=1_000)
    assert others(third, "rate") == (30, 15, 0, 0, 2_000)
    assert third.others("key/unknown") == []


def test_a_front_that_has_died_is_forgotten_and_its_successor_begins_with_nothing() -> None:
    rows, (first, second) = fronts(2)
    second.publish("queue", 9, 9, 9)
    second.publish("queue/acme", 9)
    rows.clear(1)
    assert others(first, "queue/acme") == NOTHING
    assert others(first, "queue") == NOTHING
    again = SharedTable.inherited(rows.descriptor, 1)
    again.publish("queue", 1)
    again.publish("queue/acme", 2)
    assert (others(first, "queue"), others(first, "queue/acme")) == ((1, 0, 0, 0, 0), (2, 0, 0, 0, 0))
    first.publish("queue", 3)
    assert others(again, "queue") == (3, 0, 0, 0, 0)


PUBLISH_WITHOUT_END = """
import sys
from service.front.admission.shared_table import SharedTable
table = SharedTable.inherited(int(sys.argv[1]), 1)
while True:
    for count in (5, 6):
        table.publish("queue", count, count, count, count, until_ns=count)
        table.publish("key/acme", count, count, count, count, until_ns=count)
"""


def test_a_count_is_never_seen_as_another_while_it_is_written() -> None:
    rows, (first, _) = fronts(2)
    child = subprocess.Popen(
        [sys.executable, "-c", PUBLISH_WITHOUT_END, str(rows.descriptor)], pass_fds=[rows.descriptor]
    )
    try:
        deadline_s = time.monotonic() + 60
        while first.others("key/acme") in ([], [NOTHING]) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        seen = {count for _ in range(20_000) for name in ("queue", "key/acme") for count in first.others(name)[0]}
    finally:
        child.kill()
        child.wait()
    assert seen == {5, 6}


@pytest.mark.parametrize("num_fronts", [1, 2, 16])
def test_a_row_is_small(num_fronts: int) -> None:
    rows, counts = fronts(num_fronts)
    assert counts[0].num_fronts == num_fronts
    assert ROW_BYTES // 1024 == 192
    counts[0].publish("queue", 1)
    assert [others(one, "queue") for one in counts[1:]] == [(1, 0, 0, 0, 0)] * (num_fronts - 1)
    rows.clear(0)
