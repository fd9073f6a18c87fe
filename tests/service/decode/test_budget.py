"""Room for decodes: never more than there is, in the order of asking, and nothing lost to those who give up."""

import asyncio

from service.decode.budget import DecodeBudget


def test_bytes_and_places_are_both_bounded_and_handed_out_in_order() -> None:
    async def story() -> None:
        budget = DecodeBudget(100, 3)
        order: list[int] = []

        async def decode(number: int, num_bytes: int) -> None:
            await budget.take(num_bytes)
            order.append(number)
            assert budget.num_bytes_taken <= 100
            await asyncio.sleep(0.001)
            budget.give(num_bytes)

        sizes = (60, 60, 10, 10, 10, 10, 100, 5)
        await asyncio.gather(*(decode(i, size) for i, size in enumerate(sizes)))
        assert order == list(range(len(sizes)))
        assert budget.num_bytes_taken == 0

    asyncio.run(story())


def test_one_that_is_too_large_waits_until_it_is_alone() -> None:
    async def story() -> None:
        budget = DecodeBudget(10, 2)
        await budget.take(5)
        large = asyncio.create_task(budget.take(50))
        await asyncio.sleep(0)
        assert not large.done()
        budget.give(5)
        await large
        assert budget.num_bytes_taken == 50

    asyncio.run(story())


def test_who_gives_up_while_waiting_or_just_after_leaves_nothing_taken() -> None:
    async def story() -> None:
        budget = DecodeBudget(10, 2)
        await budget.take(10)
        waiting = [asyncio.create_task(budget.take(10)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        budget.give(10)  # the second has its turn now
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert [one.cancelled() for one in waiting] == [True, True, False]
        assert budget.num_bytes_taken == 10

    asyncio.run(story())
