"""Pixels in shared memory: decoded once however many ask, nothing left behind by an image that fails."""

import asyncio

from service import metrics
from service.decode.image_decoder import ThreadDecoder
from service.decode.start import Decoders
from service.errors import MediaError
from service.front.engine_client.pixel_loader import LoadedMedia, PixelLoader
from service.front.tenant import ANYONE, Tenant
from service.ipc.arena import PixelArena
from service.media.error_location import ErrorLocation
from service.media.image.decode import load_pixels
from service.media.image.image_file import ImageFile
from service.media.resize.image_rule import PixelRule
from service.settings.settings import Settings
from tests.builders import image_bytes, image_file, noise

RULE = PixelRule(factor=32, min_pixels=4096, max_pixels=1_843_200, max_aspect=200)


def item(seed: int, *, broken: bool = False, tenant: Tenant = ANYONE) -> ImageFile:
    encoded = image_bytes(noise(120, 80, seed))
    cut = encoded[: len(encoded) // 2] if broken else encoded
    return image_file(cut, RULE, location=ErrorLocation(f"images[{seed}]", seed), salt=tenant.salt)


def num_decoded() -> float:
    return metrics.REGISTRY.get_sample_value("cenote_pictures_decoded_total") or 0.0


def loader(num_bytes: int = 1 << 20, **limits: int) -> tuple[PixelArena, PixelLoader]:
    arena, decoder = PixelArena(num_bytes), ThreadDecoder(num_threads=2, max_bytes=1 << 30, deadline_s=60)
    return arena, PixelLoader(arena, b"model", decoder, Decoders(Settings(), 1), num_threads=2, **limits)


async def taken(one: PixelLoader, *items: ImageFile) -> list[LoadedMedia]:
    """Load and take every image; raises the first error."""
    loaded = await one.load(items)
    if (error := loaded.error_of(items)) is not None:
        loaded.release()
        raise error
    return [loaded.take(item) for item in items]


async def test_pixels_in_the_slot_are_the_decoded_image() -> None:
    arena, one = loader()
    image = item(1)
    (loaded,) = await taken(one, image)
    assert loaded.slot is not None
    assert bytes(arena.view(loaded.slot)) == load_pixels(image).tobytes()


async def test_a_hundred_who_ask_for_one_image_decode_it_once() -> None:
    before = num_decoded()
    arena, one = loader()
    answers = await asyncio.gather(*(taken(one, item(1)) for _ in range(100)))
    assert num_decoded() - before == 1
    assert len({loaded.key for (loaded,) in answers}) == 1
    assert sum(loaded.slot is not None for (loaded,) in answers) == 1
    assert arena.num_bytes_taken == item(1).num_slot_bytes


async def test_a_broken_image_is_named_and_leaves_nothing_reserved() -> None:
    arena, one = loader()
    waiting = [taken(one, item(1), item(7, broken=True)), taken(one, item(7, broken=True)), taken(one, item(3))]
    first, second, third = await asyncio.gather(*waiting, return_exceptions=True)
    for error in (first, second):
        assert isinstance(error, MediaError)
        assert (error.code, error.index, error.param) == ("media_undecodable", 7, "images[7]")
    assert isinstance(third, list)
    arena.release(third[0].slot.start)
    assert arena.num_bytes_taken == 0
    assert (await taken(one, item(1)))[0].slot is None  # it is known: its pixels went back when nobody took them


async def test_more_images_than_the_arena_holds_get_through_one_after_the_other() -> None:
    arena, one = loader(item(0).num_slot_bytes * 2 + 200)

    async def load_and_give_back(seed: int) -> None:
        for loaded in await taken(one, item(seed), item(seed + 100)):
            assert loaded.slot is not None
            arena.release(loaded.slot.start)

    await asyncio.wait_for(asyncio.gather(*(load_and_give_back(seed) for seed in range(12))), 20)
    assert arena.num_bytes_taken == 0


async def test_a_forgotten_image_is_decoded_again() -> None:
    before = num_decoded()
    one = loader(max_known_keys=1)[1]
    for seed in (1, 2, 1):
        assert (await taken(one, item(seed)))[0].slot is not None
    assert num_decoded() - before == 3


async def test_a_load_that_is_cancelled_while_threads_decode_gives_its_slots_back_when_they_are_done() -> None:
    arena, one = loader()
    for delay_s in (0.0, 0.0005, 0.002, 0.01):
        task = asyncio.create_task(taken(one, *(item(seed) for seed in range(6))))
        await asyncio.sleep(delay_s)
        task.cancel()
        loaded = (await asyncio.gather(task, return_exceptions=True))[0]
        for entry in loaded if isinstance(loaded, list) else []:
            if entry.slot is not None:
                arena.release(entry.slot.start)
        async with asyncio.timeout(5):
            while arena.num_bytes_taken:
                await asyncio.sleep(0.005)


async def test_images_that_nobody_waits_for_any_more_are_not_decoded() -> None:
    arena, one = loader(1 << 22)
    before = num_decoded()
    tasks = [asyncio.create_task(taken(one, item(seed))) for seed in range(40)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for task in tasks[1:]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert num_decoded() - before < 5
    async with asyncio.timeout(5):
        while arena.num_bytes_taken != item(0).num_slot_bytes:  # a thread may be writing to one more slot
            await asyncio.sleep(0.005)
    assert (await taken(one, item(9)))[0].slot is not None


async def test_an_old_image_forgotten_during_a_load_is_still_answered() -> None:
    one = loader(max_known_keys=2)[1]
    await taken(one, item(1))
    await taken(one, item(2))
    old, *new = await taken(one, item(1), item(3), item(4), item(5))  # three new ones push the old one out
    assert old.slot is None
    assert all(entry.slot is not None for entry in new)


async def test_a_slot_goes_to_the_first_who_takes_and_the_rest_is_given_back() -> None:
    arena, one = loader()
    loaded = await one.load([item(1), item(7, broken=True), item(2)])
    assert loaded.error_of([item(1), item(2)]) is None
    error = loaded.error_of([item(1), item(7, broken=True)])
    assert error is not None
    assert (error.code, error.index) == ("media_undecodable", 7)
    first, again = loaded.take(item(1)), loaded.take(item(1))  # also twice in one request
    assert first.slot is not None
    assert again == LoadedMedia(first.key, None)
    loaded.release()
    loaded.release()  # nothing is given back twice
    assert arena.num_bytes_taken == item(1).num_slot_bytes


async def test_another_tenants_image_costs_as_much_as_a_new_one() -> None:
    """At the same time and later: neither a decode that is under way nor a key that is known is shared."""
    arena, one = loader()
    before = num_decoded()
    tenants = (Tenant.named("a"), Tenant.named("b"), ANYONE)
    items = [item(1, tenant=tenant) for tenant in tenants]
    answers = await asyncio.gather(*(one.load([mine]) for mine in items))
    taken_by = [answer.take(mine) for answer, mine in zip(answers, items, strict=True)]
    assert num_decoded() - before == 3
    assert len({loaded.key for loaded in taken_by}) == 3
    assert all(loaded.slot for loaded in taken_by)
    again = (await one.load([items[1]])).take(items[1])
    assert (again.key, again.slot) == (taken_by[1].key, None)
    assert num_decoded() - before == 3
    assert arena.num_bytes_taken == 3 * item(1).num_slot_bytes
