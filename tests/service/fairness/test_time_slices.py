"""Work on the event loop in turns: a slice each, whoever else has some, and errors hold up nobody."""

import asyncio

import pytest

from service.fairness.threads import LoopTimeSlices


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
