"""Bytes of images kept under names: what is shown is the sum of all stores, less what they have forgotten."""

from typing import cast

import pytest

from service import metrics
from service.front.inputs.uuids import UuidStore
from service.media.item import MediaItem


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
