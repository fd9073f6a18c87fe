"""Images kept under names: how many bytes all stores have, and what one front learns of another's names."""

from typing import cast

import pytest

from service import metrics
from service.front.inputs.uuids import Uuids, UuidStore
from service.media.media_item import MediaItem
from tests.builders import image_file, noise


class Item:
    """An image, as far as a store looks at it."""

    def __init__(self, name: str, num_stored_bytes: int) -> None:
        self.identity = name.encode()
        self.num_stored_bytes = num_stored_bytes


def shown() -> float:
    return metrics.REGISTRY.get_sample_value("cenote_uuid_store_bytes") or 0.0


@pytest.mark.parametrize("sizes", [(40,), (40, 50), (40, 50, 60), (40, 50, 60, 101)])
def test_the_gauge_is_of_all_stores(sizes: tuple[int, ...]) -> None:
    before = shown()
    one, two = UuidStore(100), UuidStore(100)  # one for each model
    for number, size in enumerate(sizes):
        for store in (one, two):
            store.bind(b"acme", f"{number}", cast(MediaItem, Item(f"{number}", size)))
    assert one.num_bytes == two.num_bytes <= 100
    assert shown() - before == one.num_bytes + two.num_bytes > 0


async def test_what_another_front_has_bound_is_learned_and_more_of_the_same_image_too() -> None:
    theirs, asked = UuidStore(1 << 20), list[str]()

    async def ask(tenant: bytes, uuid: str) -> bytes:
        asked.append(uuid)
        return theirs.packed(tenant, uuid)

    there, here = Uuids(theirs, "m", ask), Uuids(UuidStore(1 << 20), "m", ask)
    image, other = image_file(noise(64, 64, 1)), image_file(noise(64, 64, 2))
    there.bind(b"acme", "name", image)
    await here.ask_others(b"acme", {"name", "unknown"})
    await here.ask_others(b"other", {"name"})
    assert (here.find(b"acme", "unknown"), here.find(b"other", "name")) == (None, None)
    bound = here.find(b"acme", "name")
    assert bound is not None
    assert (bound.item.identity, bound.identities) == (image.identity, {image.identity})
    there.bind(b"acme", "name", image, b"its features")
    here.bind(b"acme", "name", other)  # the first content keeps the name
    await here.ask_others(b"acme", {"name"})
    assert (found := here.find(b"acme", "name")) is not None
    assert found.identities == {image.identity, b"its features"}
    assert sorted(asked) == ["name", "name", "name", "unknown"]


def test_a_name_is_of_one_model() -> None:
    store = UuidStore(1 << 20)

    async def ask(tenant: bytes, uuid: str) -> bytes:
        raise AssertionError("nobody is asked")

    one, other = Uuids(store, "one", ask), Uuids(store, "other", ask)
    one.bind(b"acme", "name", image_file(noise(64, 64, 1)))
    assert one.find(b"acme", "name") is not None
    assert other.find(b"acme", "name") is None
