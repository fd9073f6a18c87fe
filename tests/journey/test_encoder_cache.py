"""An image goes through the vision tower once, however often it comes and whatever it is asked for."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import CHECKPOINT, TOLERANCE, Gained, LiveServer, from_base64, image, image_part, text_part

ASPECTS = ("colors", "shapes", "mood", "objects", "text", "layout", "style", "light")
TINY_CACHE_BYTES = 200_000
ARENA_BYTES = 500_000
NUM_MANY = 24

seeds = count(10_000)
"""Each test draws images that no other test has sent."""


def bodies(url: str) -> list[dict[str, Any]]:
    """One image under eight instructions."""
    item = {"content": [image_part(url)]}
    return [{"inputs": [item], "instruction": f"Represent the {aspect} of the image."} for aspect in ASPECTS]


def embedded(answers: list[httpx.Response]) -> np.ndarray:
    return np.stack([from_base64(answer.json()["data"][0]["embedding"]) for answer in answers])


def one_by_one(server: LiveServer, asked: list[dict[str, Any]]) -> list[httpx.Response]:
    return [server.ask("/v1/embeddings", body | {"encoding_format": "base64"}) for body in asked]


def at_once(server: LiveServer, asked: list[dict[str, Any]]) -> list[httpx.Response]:
    with ThreadPoolExecutor(len(asked)) as pool:
        return list(pool.map(lambda body: server.ask("/v1/embeddings", body | {"encoding_format": "base64"}), asked))


def hits_and_misses(answers: list[httpx.Response]) -> tuple[int, int]:
    """Summed over the headers, which must say what `usage` says."""
    pairs = []
    for answer in answers:
        found = re.fullmatch(r"hit=(\d+), miss=(\d+)", answer.headers["x-encoder-cache"])
        assert found is not None
        usage = answer.json()["usage"]
        assert (usage["encoder_cache_hits"], usage["encoder_cache_misses"]) == (int(found[1]), int(found[2]))
        pairs.append((int(found[1]), int(found[2])))
    return sum(hits for hits, _ in pairs), sum(misses for _, misses in pairs)


def test_eight_instructions_run_the_tower_once_and_give_the_uncached_vectors_exactly(
    server: LiveServer, bare_server: LiveServer
) -> None:
    asked, gained = bodies(image(next(seeds))), Gained(server)
    answers = one_by_one(server, asked)
    assert gained("vision_encodes_total") == 1
    assert gained("pictures_decoded_total") == 1
    assert hits_and_misses(answers) == (len(ASPECTS) - 1, 1)

    uncached = Gained(bare_server)
    want = embedded(one_by_one(bare_server, asked))
    assert uncached("vision_encodes_total") == len(ASPECTS)
    np.testing.assert_array_equal(embedded(answers), want)
    assert len({row.tobytes() for row in want}) == len(ASPECTS)


def test_eight_instructions_at_once_run_the_tower_once_too(server: LiveServer, bare_server: LiveServer) -> None:
    asked, gained = bodies(image(next(seeds))), Gained(server)
    answers = at_once(server, asked)
    assert gained("vision_encodes_total") == 1
    assert hits_and_misses(answers) == (len(ASPECTS) - 1, 1)
    want = embedded(one_by_one(bare_server, asked))
    np.testing.assert_allclose(embedded(answers), want, rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(embedded(one_by_one(server, asked)), want)


def test_one_request_of_eight_conversations_gives_the_uncached_vectors_exactly(
    server: LiveServer, bare_server: LiveServer
) -> None:
    """The first time with one miss, the second time from the cache, and from a server without one: the same bits."""
    user = {"role": "user", "content": [image_part(image(next(seeds)))]}
    systems = [{"role": "system", "content": f"Represent the {aspect} of the image."} for aspect in ASPECTS]
    body = {"messages": [[system, user] for system in systems], "encoding_format": "base64"}
    gained = Gained(server)
    first, again = (server.ask("/v1/embeddings", body) for _ in range(2))
    assert gained("vision_encodes_total") == 1
    assert (hits_and_misses([first]), hits_and_misses([again])) == ((7, 1), (8, 0))
    uncached = bare_server.ask("/v1/embeddings", body).json()["data"]
    assert first.json()["data"] == again.json()["data"] == uncached
    assert len({entry["embedding"] for entry in uncached}) == len(ASPECTS)


def test_an_image_that_stands_in_one_request_many_times_is_encoded_once(server: LiveServer) -> None:
    url, gained = image(next(seeds)), Gained(server)
    item = {"content": [image_part(url), image_part(url), text_part("twice")]}
    answer = server.ask("/v1/embeddings", {"inputs": [item] * 4, "encoding_format": "base64"})
    assert gained("vision_encodes_total") == 1
    assert hits_and_misses([answer]) == (7, 1)


def test_the_same_pixels_in_another_container_are_a_hit(server: LiveServer) -> None:
    seed, gained = next(seeds), Gained(server)
    png, bmp = ([{"inputs": [{"content": [image_part(image(seed, kind=kind))]}]}] for kind in ("PNG", "BMP"))
    first, second = one_by_one(server, png), one_by_one(server, bmp)
    assert gained("vision_encodes_total") == 1
    assert hits_and_misses(second) == (1, 0)
    np.testing.assert_array_equal(embedded(first), embedded(second))


def test_all_routes_share_the_cache(server: LiveServer) -> None:
    url, gained = image(next(seeds)), Gained(server)
    server.ask("/v2/embed", {"images": [url]})
    server.ask("/v2/embed", {"inputs": [{"content": [image_part(url)]}]})
    server.ask("/v1/embeddings", {"messages": [{"role": "user", "content": [image_part(url)]}]})
    assert gained("vision_encodes_total") == 1


def test_another_image_is_a_miss(server: LiveServer) -> None:
    gained = Gained(server)
    for _ in range(3):
        server.ask("/v2/embed", {"images": [image(next(seeds))]})
    assert gained("vision_encodes_total") == 3


@pytest.fixture(scope="module")
def tiny(start_server: Callable[..., LiveServer]) -> Any:
    """Room for a few images' features, and in the arena for a few images' pixels."""
    flags = ("--encoder-cache-bytes", str(TINY_CACHE_BYTES), "--pixel-arena-bytes", str(ARENA_BYTES))
    server = start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()
    yield server
    server.stop()


def test_the_cache_never_outgrows_its_cap_and_evicted_images_are_answered_right(
    tiny: LiveServer, bare_server: LiveServer
) -> None:
    """The front believes the engine still has what it has evicted, sends no pixels, and is asked for them."""
    asked = [{"inputs": [{"content": [image_part(image(20_000 + i, 160, 160))]}]} for i in range(NUM_MANY)]
    want = embedded(one_by_one(bare_server, asked))
    for _ in range(2):
        for body, row in zip(asked, want, strict=True):
            answers = embedded(one_by_one(tiny, [body] * 3))  # wanted again: worth more than the last
            np.testing.assert_array_equal(answers, np.stack([row] * 3))
            assert 0 < tiny.metric("cenote_encoder_cache_bytes") <= TINY_CACHE_BYTES
    assert tiny.metric("cenote_encoder_cache_evictions_total") > NUM_MANY / 2
    assert tiny.metric("cenote_encoder_cache_tier_rejected_total", tier="device") > NUM_MANY / 2
    np.testing.assert_allclose(embedded(at_once(tiny, asked)), want, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(
        tiny.vectors({"inputs": [item for body in asked for item in body["inputs"]]}), want, rtol=0, atol=TOLERANCE
    )
    assert tiny.metric("cenote_encoder_cache_bytes") <= TINY_CACHE_BYTES


def test_features_larger_than_the_whole_cache_are_answered_and_not_kept(tiny: LiveServer) -> None:
    body, gained = {"inputs": [{"content": [image_part(image(next(seeds), 416, 352))]}]}, Gained(tiny)
    np.testing.assert_array_equal(tiny.vectors(body), tiny.vectors(body))
    assert gained("vision_encodes_total") == 2
    assert tiny.metric("cenote_encoder_cache_bytes") <= TINY_CACHE_BYTES


def test_pixels_larger_than_the_whole_arena_are_refused_with_both_numbers(tiny: LiveServer) -> None:
    good = {"content": [text_part("good")]}
    error = tiny.refusal("/v1/embeddings", {"inputs": [good, {"content": [image_part(image(1, 640, 480))]}]}, 413)
    assert (error["code"], error["index"]) == ("media_too_large", 1)
    assert str(640 * 480 * 3) in error["message"]
    assert str(ARENA_BYTES) in error["message"]
    assert len(tiny.vectors({"inputs": [good]})) == 1


def test_an_image_is_the_same_image_in_any_spelling_of_base64(server: LiveServer) -> None:
    drawn = (image(seed, 100, 60).partition(",") for seed in seeds)
    scheme, _, text = next(one for one in drawn if one[2].endswith("=") and {"+", "/"} <= set(one[2]))
    spellings = [text, text.rstrip("="), text.replace("+", "-").replace("/", "_"), text + "\n"]
    urls = [*spellings, *(f"{scheme},{one}" for one in spellings)]
    answer = server.ask("/v1/embeddings", {"inputs": [{"content": [image_part(url)]} for url in urls]}).json()
    assert answer["usage"]["encoder_cache_misses"] == 1
    assert answer["usage"]["encoder_cache_hits"] == len(urls) - 1
    assert len({str(one["embedding"]) for one in answer["data"]}) == 1
