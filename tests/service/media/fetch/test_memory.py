"""Fetched files that are kept: bounded, least recently used out first, each tenant's apart."""

import pytest

from service.media.fetch.memory import OVERHEAD_BYTES, FetchMemory
from service.media.fetch.url import parse_url

URLS = [parse_url(f"http://a.example/{number}") for number in range(4)]
TAG = {"etag": '"x"'}


def test_the_bound_holds_and_the_least_recently_used_goes_first() -> None:
    memory = FetchMemory(3 * (OVERHEAD_BYTES + 10))
    for url in URLS[:3]:
        memory.keep(b"", url, bytes(10), TAG)
    memory.find(b"", URLS[0])
    memory.keep(b"", URLS[3], bytes(10), TAG)
    assert memory.num_bytes == 3 * (OVERHEAD_BYTES + 10)
    assert [memory.find(b"", url) is not None for url in URLS] == [True, False, True, True]


def test_an_answer_in_place_of_another_is_counted_once_and_one_without_a_tag_forgets_it() -> None:
    memory = FetchMemory(1 << 20)
    memory.keep(b"", URLS[0], bytes(1000), TAG)
    memory.keep(b"", URLS[0], bytes(10), TAG)
    assert memory.num_bytes == OVERHEAD_BYTES + 10
    memory.keep(b"", URLS[0], bytes(10), {})
    assert memory.num_bytes == 0


@pytest.mark.parametrize(
    "fields", [{}, {"etag": "x" * 257}, {"etag": "ü"}, {"etag": "a\tb"}, TAG | {"cache-control": "private, No-Store"}]
)
def test_what_cannot_be_asked_for_again_or_must_not_be_kept_is_not(fields: dict[str, str]) -> None:
    memory = FetchMemory(1 << 20)
    memory.keep(b"", URLS[0], b"x", fields)
    assert memory.find(b"", URLS[0]) is None


def test_an_image_is_its_tenants_own() -> None:
    memory = FetchMemory(1 << 20)
    memory.keep(b"one", URLS[0], b"x", TAG)
    assert memory.find(b"two", URLS[0]) is None
