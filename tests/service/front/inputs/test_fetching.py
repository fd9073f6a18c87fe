"""The fetches of one request: each URL once, one bound for all, and an end of all of them with the first that fails."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from schemas.content.parts import ImageUrlPart
from service.errors import MediaError, UnavailableError
from service.front.inputs.fetching import Fetching
from service.front.inputs.media_reader import MediaReader, MediaRules
from service.front.job import PlacedMedia
from service.front.tenant import Tenant
from service.media.features.features import FeatureRule
from service.media.image.header import DecodeLimits
from service.prompt.detect import load_profile
from service.settings.settings import Settings
from tests.builders import own_uuids
from tests.conftest import CHECKPOINT
from tests.media_host import MediaHost, reply


@pytest.fixture
def host() -> Iterator[MediaHost]:
    with MediaHost({f"/{number}": reply(bytes(1000)) for number in range(8)}) as one:
        yield one


def run(
    host: MediaHost, *urls: str, per_item: bool = False, max_bytes: int = 1 << 20, place: Any = None
) -> MediaReader:
    """Fetch the images of a request of so many inputs; its reader, with what came."""
    settings = Settings(allow_private_media_hosts="localhost", media_ports=str(host.port), max_media_bytes=max_bytes)
    fetching = Fetching.of(settings)
    assert fetching is not None
    rule = FeatureRule(hidden=8, width=8)
    rules = MediaRules(profile=load_profile(CHECKPOINT), features=rule, limits=DecodeLimits(), uuids=own_uuids(0))
    images = MediaReader(rules, Tenant("", b"tenant", b"names"))
    places = [PlacedMedia(f"images[{i}]", f"images[{i}]", i, ImageUrlPart(image_url=url)) for i, url in enumerate(urls)]
    step = fetching.step(images, places, per_item=per_item)
    if step is not None:
        asyncio.run(step(place or Mock()))
    return images


def test_without_urls_there_is_no_step(host: MediaHost) -> None:
    assert run(host, "data:image/png;base64,AAAA", "AAAA", "file:///a").fetched == {}


def test_two_thousand_parts_with_one_url_are_one_fetch(host: MediaHost) -> None:
    assert run(host, *[host.url("/0")] * 2000).fetched == {host.url("/0"): bytes(1000)}
    assert host.paths == ["/0"]


def test_all_images_of_a_request_share_one_bound(host: MediaHost) -> None:
    urls = [host.url(f"/{number}") for number in range(8)]
    assert len(run(host, *urls, max_bytes=8000).fetched) == 8
    with pytest.raises(MediaError) as caught:
        run(host, *urls, max_bytes=7999)
    assert caught.value.code == "media_too_large"
    assert caught.value.message.startswith("The files at the URLs")  # of videos and audio as well
    assert "7999" in caught.value.message


def test_with_per_item_those_within_the_bound_stay(host: MediaHost) -> None:
    urls = [host.url(f"/{number}") for number in range(8)]
    found = run(host, *urls, max_bytes=4000, per_item=True).fetched
    assert sum(isinstance(body, bytes) for body in found.values()) == 4
    assert sum(isinstance(body, MediaError) for body in found.values()) == 4


def test_the_first_failure_ends_the_other_fetches_and_names_its_place(host: MediaHost) -> None:
    def never(_: object) -> bytes:
        time.sleep(5)
        return reply(b"")

    host.pages["/slow"] = never
    began_s = time.monotonic()
    with pytest.raises(MediaError) as caught:
        run(host, host.url("/slow"), host.url("/missing"))
    assert (caught.value.param, caught.value.index) == ("images[1]", 1)
    assert time.monotonic() - began_s < 4


def test_a_url_that_its_text_refuses_costs_no_fetch(host: MediaHost) -> None:
    with pytest.raises(MediaError) as caught:
        run(host, host.url("/0"), "http://0x7f.1/")
    assert (caught.value.code, caught.value.index) == ("media_source_refused", 1)
    assert caught.value.message.startswith("The URL of the media: got ")
    assert host.num_connections == 0


@pytest.mark.parametrize("per_item", [False, True])
def test_a_full_queue_ends_the_request_whole(host: MediaHost, per_item: bool) -> None:
    place = Mock()
    place.add_bytes.side_effect = UnavailableError("overloaded", "full", retry_after_s=1)
    with pytest.raises(UnavailableError):
        run(host, host.url("/0"), host.url("/1"), place=place, per_item=per_item)
