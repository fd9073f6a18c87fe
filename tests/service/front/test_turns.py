"""Work on the event loop in turns: a step each, whoever else has some, and errors come through."""

import asyncio

import pytest

from service.fairness.threads import Steps
from service.front.turns import Turns


def counting(name: str, num_steps: int, seen: list[str]) -> Steps[str]:
    for number in range(num_steps):
        seen.append(f"{name}{number}")
        yield
    return name


def test_steps_of_two_take_turns_and_the_loop_goes_on_between_them() -> None:
    async def story() -> None:
        turns, seen, num_turns = Turns(), list[str](), 0

        async def count() -> None:
            nonlocal num_turns
            while True:
                num_turns += 1
                await asyncio.sleep(0)

        counted = asyncio.create_task(count())
        works = [turns.run_steps(counting("a", 3, seen)), turns.run_steps(counting("b", 3, seen))]
        assert await asyncio.gather(*works) == ["a", "b"]
        counted.cancel()
        assert seen == ["a0", "b0", "a1", "b1", "a2", "b2"]
        assert num_turns >= len(seen)

    asyncio.run(story())


def test_an_error_comes_through_and_holds_up_nobody() -> None:
    def failing() -> Steps[None]:
        yield
        raise ValueError("this one")

    async def story() -> None:
        turns = Turns()
        with pytest.raises(ValueError, match="this one"):
            await turns.run_steps(failing())
        assert await turns.run_steps(counting("a", 0, [])) == "a"

    asyncio.run(story())
