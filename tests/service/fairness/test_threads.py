"""Threads: large work stops for others and not for itself, small work waits for none of it, who gives up is let go."""

import asyncio
import threading
import time
from collections import Counter

import pytest

from service.fairness import Steps
from service.fairness.threads import MAX_LOOKS, FairThreads, LoopTimeSlices, all_at_once


def counting(num_steps: int, seen: list[int]) -> Steps[str]:
    """Steps of a millisecond."""
    for number in range(num_steps):
        seen.append(number)
        time.sleep(0.001)
        yield
    return "done"


async def test_steps_are_done_in_order_and_their_result_comes_back() -> None:
    seen: list[int] = []
    threads = FairThreads(1, "t", small=10)
    assert await threads.run_steps(counting(100, seen), 1000) == "done"
    assert seen == list(range(100))
    assert await threads.run_steps(counting(3, []), 3) == "done"
    assert await threads.run(threading.get_ident, 1000) != threading.get_ident()
    assert all_at_once(counting(2, [])) == "done"


async def test_large_work_gives_way_between_two_slices_and_not_for_ever() -> None:
    threads, seen, looks = FairThreads(1, "t", small=10, num_spare=0), list[int](), list[int]()

    def others_work() -> bool:
        looks.append(len(seen))
        return True

    assert await threads.run_steps(counting(30, seen), 1000, others_work=others_work) == "done"
    assert seen == list(range(30))
    pauses = Counter(looks)
    assert set(pauses.values()) == {MAX_LOOKS}  # no step ran meanwhile
    assert 1 <= len(pauses) <= 30


async def test_two_large_ones_take_turns() -> None:
    threads, first, second = FairThreads(1, "t", small=10, num_spare=0), list[int](), list[int]()
    one = asyncio.create_task(threads.run_steps(counting(200, first), 1000))
    two = asyncio.create_task(threads.run_steps(counting(20, second), 1000))
    assert await two == "done"
    assert len(first) < 200  # it would have been over, had it been waited for
    assert await one == "done"


async def test_small_work_does_not_wait_for_a_large_call_that_nothing_can_stop() -> None:
    threads, release = FairThreads(1, "t", small=10), threading.Event()
    stuck = asyncio.create_task(threads.run(lambda: release.wait(30), 1000))
    await asyncio.sleep(0)
    assert await threads.run(lambda: "small", 1) == "small"
    assert not stuck.done()
    release.set()
    assert await stuck


async def test_who_gives_up_leaves_the_rest_undone_and_an_error_comes_through() -> None:
    def failing() -> Steps[None]:
        yield
        raise ValueError("this one")

    seen: list[int] = []
    threads = FairThreads(1, "t", small=10, num_spare=0)
    work = asyncio.create_task(threads.run_steps(counting(10_000, seen), 10_000))
    while not seen:
        await asyncio.sleep(0.001)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    with pytest.raises(ValueError, match="this one"):
        await threads.run_steps(failing(), 1000)
    assert len(seen) < 1000


async def test_slices_of_two_take_turns_and_the_loop_goes_on_between_them() -> None:
    turns, seen, num_turns = LoopTimeSlices(), list[str](), 0

    async def count() -> None:
        nonlocal num_turns
        while True:
            num_turns += 1
            await asyncio.sleep(0)

    async def work(name: str) -> None:
        for _ in range(3):
            await turns.take(lambda: seen.append(name))

    counted = asyncio.create_task(count())
    await asyncio.gather(work("a"), work("b"))
    counted.cancel()
    assert seen == ["a", "b"] * 3
    assert num_turns >= len(seen)


async def test_an_error_comes_through_and_holds_up_nobody() -> None:
    turns = LoopTimeSlices()
    with pytest.raises(ZeroDivisionError):
        await turns.take(lambda: 1 // 0)
    assert await turns.take(lambda: "a") == "a"
