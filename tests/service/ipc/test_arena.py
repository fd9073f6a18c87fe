"""Shared memory for pixels: slots do not overlap, waiting is in order, and everything comes back."""

import asyncio
import mmap
import os
import random

import pytest

from service.fairness.fair_queue import open_party
from service.ipc.arena import PixelArena
from service.ipc.messages import PixelSlot


async def reserve(arena: PixelArena, sizes: list[int]) -> list[PixelSlot]:
    """Slots for a request of its own; runs in a task of its own."""
    open_party("")
    return await arena.reserve(sizes)


async def test_slots_never_overlap_and_all_memory_comes_back() -> None:
    arena, rnd = PixelArena(1 << 16), random.Random(3)
    held: list[tuple[int, int]] = []
    for _ in range(2000):
        if held and rnd.random() < 0.5:
            arena.release(held.pop(rnd.randrange(len(held)))[0])
        else:
            try:
                async with asyncio.timeout(0.001):
                    (slot,) = await arena.reserve([rnd.randrange(1, 9000)])
            except TimeoutError:
                continue
            assert all(slot.start + slot.num_bytes <= a or b <= slot.start for a, b in held)
            held.append((slot.start, slot.start + slot.num_bytes))
    for start, _ in held:
        arena.release(start)
    assert arena.num_bytes_taken == 0
    assert await arena.reserve([1 << 16])  # one piece again


async def test_slots_of_one_request_are_all_or_none_and_small_ones_pass() -> None:
    arena = PixelArena(4096)
    (first,) = await arena.reserve([2048])
    large = asyncio.create_task(reserve(arena, [1024, 2048]))
    await asyncio.sleep(0)
    (small,) = await asyncio.wait_for(reserve(arena, [64]), 5)
    assert not large.done()
    assert arena.num_bytes_taken == 2112  # the large one holds nothing while it waits
    arena.release(first.start)
    arena.release(small.start)
    assert len(await large) == 2


async def test_what_is_taken_leaves_room_for_what_is_smaller_and_none_waits_for_ever() -> None:
    arena = PixelArena(1 << 16)
    large = [asyncio.create_task(reserve(arena, [1 << 14])) for _ in range(8)]
    await asyncio.sleep(0.01)
    assert [one.done() for one in large] == [True] * 3 + [False] * 5
    (small,) = await asyncio.wait_for(reserve(arena, [64]), 5)
    arena.release(small.start)
    all_of_it = asyncio.create_task(reserve(arena, [1 << 16]))
    for one in large:
        (slot,) = await asyncio.wait_for(one, 5)
        arena.release(slot.start)
    assert len(await asyncio.wait_for(all_of_it, 5)) == 1


async def test_who_stops_waiting_lets_the_next_one_through() -> None:
    arena = PixelArena(4096)
    await arena.reserve([3000])
    impatient = asyncio.create_task(arena.reserve([4096]))
    await asyncio.sleep(0)
    patient = asyncio.create_task(arena.reserve([64]))
    await asyncio.sleep(0)
    impatient.cancel()
    assert len(await asyncio.wait_for(patient, 1)) == 1


async def test_who_is_cancelled_as_its_turn_comes_leaves_nothing_taken() -> None:
    arena = PixelArena(4096)
    (first,) = await arena.reserve([4096])
    second = asyncio.create_task(arena.reserve([4096]))
    await asyncio.sleep(0)
    arena.release(first.start)
    second.cancel()
    await asyncio.wait([second])
    assert second.cancelled()
    assert arena.num_bytes_taken == 0


def test_releasing_what_nobody_holds_is_a_bug_and_not_a_shrug() -> None:
    """The second release of a slot would free the next owner's pixels under him."""
    arena = PixelArena(4096)
    (slot,) = asyncio.run(arena.reserve([64]))
    arena.release(slot.start)
    with pytest.raises(RuntimeError, match="This is a bug"):
        arena.release(slot.start)


def test_another_mapping_of_the_descriptor_sees_the_pixels() -> None:
    arena = PixelArena(4096)
    (slot,) = asyncio.run(arena.reserve([5]))
    arena.view(slot)[:] = b"hello"
    other = mmap.mmap(os.dup(arena.descriptor), 4096)
    assert other[slot.start : slot.start + 5] == b"hello"


def test_what_can_never_fit_is_known_beforehand() -> None:
    arena = PixelArena(4096)
    assert arena.fits([2048, 2048])
    assert not arena.fits([2048, 2049])
