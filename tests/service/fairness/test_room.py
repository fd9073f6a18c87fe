"""Room: never more than there is, nobody kept out by others' long work, and nothing lost to those who give up."""

import asyncio

from service.fairness.fair_queue import open_party
from service.fairness.room import FairRoom, Size, WorkPiece


async def asking(room: FairRoom, tenant: str, num_bytes: int, size: Size = "large") -> "asyncio.Task[WorkPiece]":
    """A request of a tenant that has asked for room."""

    async def ask() -> WorkPiece:
        open_party(tenant)
        return await room.take(num_bytes, num_bytes=num_bytes, size=size)

    task = asyncio.create_task(ask())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_bytes_and_places_are_both_bounded_and_all_have_their_turn() -> None:
    room, done = FairRoom(3, 160), []

    async def work(number: int, num_bytes: int) -> None:
        piece = await room.take(num_bytes, num_bytes=num_bytes, size="large")
        assert room.num_bytes_taken <= 160
        await asyncio.sleep(0.001)
        done.append(number)
        room.give(piece)

    sizes = (90, 90, 10, 10, 10, 10, 150, 5)
    await asyncio.gather(*(work(i, size) for i, size in enumerate(sizes)))
    assert sorted(done) == list(range(len(sizes)))
    assert room.num_bytes_taken == 0


async def test_one_that_is_too_large_waits_until_no_other_large_one_is_under_way() -> None:
    room = FairRoom(2, 100)
    first = await room.take(50, num_bytes=50, size="large")
    large = await asking(room, "", 500)
    assert not large.done()
    room.give(first)
    await large
    assert room.num_bytes_taken == 500


async def test_small_work_waits_for_no_large_work_of_its_own_tenant() -> None:
    room = FairRoom(2, 1600)
    large = [await asking(room, "", 600) for _ in range(5)]
    assert [one.done() for one in large] == [True, True, False, False, False]
    small = await asking(room, "", 10, size="small")
    assert small.done()
    another = await asking(room, "", 10, size="small")
    assert not another.done()  # one at a time beside what is under way
    room.give(large[0].result())
    room.give(small.result())
    await another
    for one in large:
        room.give(await one)


async def test_who_has_nothing_under_way_waits_for_nobody_who_has() -> None:
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


async def test_small_and_large_take_turns_so_that_neither_is_kept_out() -> None:
    room, order = FairRoom(1, num_spare=0), []

    async def work(name: Size) -> None:
        piece = await room.take(1, size=name)
        order.append(name)
        await asyncio.sleep(0)
        room.give(piece)

    small = [work("small") for _ in range(4)]
    await asyncio.gather(work("large"), *small, *(work("large") for _ in range(2)))
    assert order == ["large", "small"] * 3 + ["small"]


async def test_who_gives_up_while_waiting_or_just_after_leaves_nothing_taken() -> None:
    room = FairRoom(1, num_spare=0)
    first = await room.take(10, num_bytes=10, size="large")
    waiting = [await asking(room, "", 10) for _ in range(3)]
    waiting[0].cancel()
    await asyncio.sleep(0)
    room.give(first)  # the second has its turn now
    waiting[1].cancel()
    await asyncio.wait(waiting)
    assert [one.cancelled() for one in waiting] == [True, True, False]
    assert room.num_bytes_taken == 10


async def test_who_gives_up_no_longer_stands_in_the_way() -> None:
    room = FairRoom(2, 100)
    await room.take(50, num_bytes=50, size="large")
    first = await asking(room, "a", 80)
    second = await asking(room, "a", 90)
    assert not first.done()
    assert not second.done()
    third = await asking(room, "a", 85)
    first.cancel()
    second.cancel()
    third.cancel()
    fourth = await asking(room, "a", 30)
    assert fourth.done()


async def test_a_newcomers_small_piece_has_a_seat_however_much_small_work_is_under_way() -> None:
    room = FairRoom(2, 1600)
    flood = [await asking(room, "flood", 1, "small") for _ in range(9)]
    assert [one.done() for one in flood] == [True] * 3 + [False] * 6
    assert (await asking(room, "newcomer", 1, "small")).done()


async def test_long_work_has_no_extra_seat_and_who_was_slow_is_taken_for_slow() -> None:
    room = FairRoom(1, 1600)
    flood = [await asking(room, "flood", 1, "small") for _ in range(6)]
    assert [one.done() for one in flood] == [True] * 2 + [False] * 4
    for one in flood[:2]:
        room.spend(one.result(), 10, is_over=True)
        room.give(one.result())
    await asyncio.sleep(0)
    assert [one.done() for one in flood] == [True] * 3 + [False] * 3
    assert flood[2].result().size == "long"
    for tenant in ("a", "b"):
        assert (await asking(room, tenant, 1, "small")).done()
    assert not (await asking(room, "c", 1, "long")).done()


async def test_without_keys_each_request_is_slow_by_itself() -> None:
    room = FairRoom(1, 1600)
    slow = await asking(room, "", 1, "small")
    room.spend(slow.result(), 10, is_over=True)
    assert (await asking(room, "", 1, "small")).done()


async def test_who_stays_in_an_extra_seat_is_moved_or_has_to_be_stopped() -> None:
    room = FairRoom(1, 1600)
    shared, small = [(await asking(room, "", 1, "small")).result() for _ in range(2)]
    assert (shared.seat, small.seat) == ("shared", "small")
    assert room.hurry(shared)
    assert not room.hurry(small)
    waiting = await asking(room, "", 1, "small")
    room.give(shared)
    await waiting
    room.give(waiting.result())
    assert room.hurry(small)
    assert small.seat == "shared"
    assert (await asking(room, "", 1, "small")).done()


async def test_time_is_charged_in_the_place_of_what_was_expected() -> None:
    room = FairRoom(1, num_spare=0)
    busy = [await asking(room, "busy", 1, "large") for _ in range(3)]
    other = [await asking(room, "other", 1000, "large") for _ in range(3)]
    for _ in range(2):  # of one second it has charged one, however often it is told
        room.spend(busy[0].result(), 0.4)
    room.spend(busy[0].result(), 0.4, is_over=True)
    room.give(busy[0].result())
    for one in other:
        room.spend(await one, 0.1, is_over=True)
        room.give(one.result())
    await busy[1]
    assert not busy[2].done()


async def test_what_a_piece_is_seen_to_hold_is_counted_or_it_has_to_be_stopped() -> None:
    counted: list[int] = []
    room = FairRoom(2, 1600, count_bytes=counted.append)
    first, second = [(await asking(room, "", 10, "small")).result() for _ in range(2)]
    assert room.grow(first, 25)
    assert room.grow(first, 900)
    assert room.grow(second, 400)
    assert not room.grow(second, 900)
    assert room.num_bytes_taken == sum(counted) == 1300
    waiting = await asking(room, "", 200)
    assert not waiting.done()
    assert (await asking(room, "newcomer", 90)).done(), "a newcomer's bytes are reserved"
    waiting.cancel()
    room.give(first)
    assert room.grow(second, 5000), "nobody else has any"


async def test_long_work_that_needs_all_bytes_is_not_passed_for_ever_by_large_work() -> None:
    room = FairRoom(2, 1600)
    large = [await asking(room, "", 300) for _ in range(2)]
    long = await asking(room, "", 1500, "long")
    later = [await asking(room, "", 300) for _ in range(2)]
    for one in large:
        room.give(one.result())
        await asyncio.sleep(0)
    assert long.done()
    assert not any(one.done() for one in later)
    room.give(long.result())
    await asyncio.gather(*later)
