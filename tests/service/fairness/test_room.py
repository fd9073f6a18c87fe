"""Room: never more than there is, nobody kept out by others' long work, and nothing lost to those who give up."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from service.fairness.party import open_party
from service.fairness.room import FairRoom, WorkPiece


def story(tell: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(tell(), 30))


async def asking(room: FairRoom, tenant: str, num_bytes: int, *, is_small: bool = False) -> "asyncio.Task[WorkPiece]":
    """A request of a tenant that has asked for room."""

    async def ask() -> WorkPiece:
        open_party(tenant)
        return await room.take(num_bytes, num_bytes=num_bytes, is_small=is_small)

    task = asyncio.create_task(ask())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


def test_bytes_and_places_are_both_bounded_and_all_have_their_turn() -> None:
    async def tell() -> None:
        room, done = FairRoom(3, 160), []

        async def work(number: int, num_bytes: int) -> None:
            piece = await room.take(num_bytes, num_bytes=num_bytes, is_small=False)
            assert room.num_bytes_taken <= 160
            await asyncio.sleep(0.001)
            done.append(number)
            room.give(piece)

        sizes = (90, 90, 10, 10, 10, 10, 150, 5)
        await asyncio.gather(*(work(i, size) for i, size in enumerate(sizes)))
        assert sorted(done) == list(range(len(sizes)))
        assert room.num_bytes_taken == 0

    story(tell)


def test_one_that_is_too_large_waits_until_no_other_large_one_is_under_way() -> None:
    async def tell() -> None:
        room = FairRoom(2, 100)
        first = await room.take(50, num_bytes=50, is_small=False)
        large = await asking(room, "", 500)
        assert not large.done()
        room.give(first)
        await large
        assert room.num_bytes_taken == 500

    story(tell)


def test_small_work_waits_for_no_large_work_of_its_own_tenant() -> None:
    async def tell() -> None:
        room = FairRoom(2, 1600)
        large = [await asking(room, "", 600) for _ in range(5)]
        assert [one.done() for one in large] == [True, True, False, False, False]
        small = await asking(room, "", 10, is_small=True)
        assert small.done()
        another = await asking(room, "", 10, is_small=True)
        assert not another.done()  # one at a time beside what is under way
        room.give(large[0].result())
        room.give(small.result())
        await another
        for one in large:
            room.give(await one)

    story(tell)


def test_who_has_nothing_under_way_waits_for_nobody_who_has() -> None:
    async def tell() -> None:
        room = FairRoom(2, 1600)
        greedy = [await asking(room, "greedy", 100) for _ in range(5)]
        modest = await asking(room, "modest", 100)
        assert modest.done()
        assert [one.done() for one in greedy] == [True, True, False, False, False]
        again = await asking(room, "modest", 100)
        assert not again.done()
        for one in greedy[:2]:
            room.give(one.result())
            await asyncio.sleep(0.001)
        assert again.done()  # before the fourth and fifth of those who came earlier
        assert [one.done() for one in greedy] == [True, True, True, False, False]

    story(tell)


def test_small_and_large_take_turns_so_that_neither_is_kept_out() -> None:
    async def tell() -> None:
        room, order = FairRoom(1, num_spare=0), []

        async def work(name: str, *, is_small: bool) -> None:
            piece = await room.take(1, is_small=is_small)
            order.append(name)
            await asyncio.sleep(0)
            room.give(piece)

        small = [work("small", is_small=True) for _ in range(4)]
        await asyncio.gather(work("large", is_small=False), *small, *(work("large", is_small=False) for _ in range(2)))
        assert order == ["large", "small"] * 3 + ["small"]

    story(tell)


def test_who_gives_up_while_waiting_or_just_after_leaves_nothing_taken() -> None:
    async def tell() -> None:
        room = FairRoom(1, num_spare=0)
        first = await room.take(10, num_bytes=10, is_small=False)
        waiting = [await asking(room, "", 10) for _ in range(3)]
        waiting[0].cancel()
        await asyncio.sleep(0)
        room.give(first)  # the second has its turn now
        waiting[1].cancel()
        await asyncio.wait(waiting)
        assert [one.cancelled() for one in waiting] == [True, True, False]
        assert room.num_bytes_taken == 10

    story(tell)


def test_who_gives_up_no_longer_stands_in_the_way() -> None:
    async def tell() -> None:
        room = FairRoom(2, 100)
        await room.take(50, num_bytes=50, is_small=False)
        first = await asking(room, "a", 80)
        second = await asking(room, "a", 90)
        assert not first.done()
        assert not second.done()
        third = await asking(room, "a", 85)
        first.cancel()
        second.cancel()
        third.cancel()
        fourth = await asking(room, "a", 40)
        assert fourth.done()

    story(tell)
