"""Usage: one rule for JSON, raw headers, streams and Cohere, by modality, answered inputs only."""

from itertools import count
from typing import Any

import pytest

from tests.conftest import LiveServer, data_uri, frames_part, image, image_part, text_part
from tests.stream_client import exchange

V1, V2 = "/v1/embeddings", "/v2/embed"
SIZE = 96, 64
IMAGE_TOKENS = 96 * 64 // 1024
seeds = count(83_000)
"""Each test draws images that no other test has sent, and numbers its texts alike."""

Item = dict[str, list[dict[str, Any]]]


def item(*parts: dict[str, Any]) -> Item:
    return {"content": list(parts)}


def new_text() -> dict[str, Any]:
    return text_part(f"the {next(seeds)}th text")


def new_image() -> dict[str, Any]:
    return image_part(image(next(seeds), *SIZE))


def new_video() -> dict[str, Any]:
    return frames_part([image(next(seeds), *SIZE) for _ in range(4)])


def usage_of(server: LiveServer, *items: Item, **fields: Any) -> dict[str, Any]:
    usage: dict[str, Any] = server.ask(V1, {"inputs": list(items), **fields}).json()["usage"]
    details = usage["prompt_tokens_details"]
    parts = [details[f"{modality}_tokens"] for modality in ("text", "image", "video", "audio")]
    assert sum(parts) == usage["prompt_tokens"] == usage["total_tokens"]
    assert usage["completion_tokens"] == 0, "the Vercel SDK's @ai-sdk/togetherai requires it"
    assert usage["image_tokens"] == details["image_tokens"] + details["video_tokens"]
    assert 0 <= details["cached_tokens"] <= usage["prompt_tokens"]
    return usage


def details_of(server: LiveServer, *items: Item, **fields: Any) -> dict[str, int]:
    details: dict[str, int] = usage_of(server, *items, **fields)["prompt_tokens_details"]
    return details


def test_a_text_is_text_with_its_template(keeping: LiveServer) -> None:
    usage = usage_of(keeping, item(new_text()))
    wanted = {"text_tokens": usage["prompt_tokens"], "image_tokens": 0, "video_tokens": 0, "audio_tokens": 0}
    assert usage["prompt_tokens_details"] == wanted | {"cached_tokens": 0}
    assert usage["prompt_tokens"] > 0


def test_each_modality_has_its_own_sum(keeping: LiveServer) -> None:
    items = [item(new_text()), item(new_image(), new_text(), new_image()), item(new_video(), new_image())]
    alone = [usage_of(keeping, one) for one in items]
    video_tokens = alone[2]["prompt_tokens_details"]["video_tokens"]
    assert [one["prompt_tokens_details"]["image_tokens"] for one in alone] == [
        0, 2 * IMAGE_TOKENS, IMAGE_TOKENS
    ]  # fmt: skip
    assert video_tokens > 0
    together = usage_of(keeping, *items)
    for name in ("prompt_tokens", "image_tokens"):
        assert together[name] == sum(one[name] for one in alone)
    for name in ("text_tokens", "image_tokens", "video_tokens", "audio_tokens"):
        assert together["prompt_tokens_details"][name] == sum(one["prompt_tokens_details"][name] for one in alone)


def test_inputs_whose_vector_was_kept_are_cached_whole_and_counted_all_the_same(
    keeping: LiveServer,
) -> None:
    old, new = item(new_text(), new_image()), item(new_text())
    first = usage_of(keeping, old)
    again, other = usage_of(keeping, old), usage_of(keeping, new)
    both = usage_of(keeping, old, item(new_text()))
    assert first["prompt_tokens_details"]["cached_tokens"] == other["prompt_tokens_details"]["cached_tokens"] == 0
    assert again["prompt_tokens_details"] == first["prompt_tokens_details"] | {"cached_tokens": first["prompt_tokens"]}
    assert both["prompt_tokens_details"]["cached_tokens"] == first["prompt_tokens"] < both["prompt_tokens"]


def test_image_features_that_were_kept_spare_no_token(keeping: LiveServer) -> None:
    """The language model reads the image again: `encoder_cache_hits` tells of features, `cached_tokens` of vectors."""
    image = new_image()
    usage_of(keeping, item(image))
    usage = usage_of(keeping, item(image, new_text()))
    assert (usage["encoder_cache_hits"], usage["prompt_tokens_details"]["cached_tokens"]) == (1, 0)


@pytest.mark.parametrize("keeps", [True, False])
def test_of_a_repeat_inside_a_request_all_but_one_are_cached(
    keeping: LiveServer, server: LiveServer, keeps: bool
) -> None:
    one = item(new_text(), new_image())
    details = details_of(keeping if keeps else server, one, one, one)
    alone = details_of(keeping, item(new_text(), new_image()))
    size = alone["text_tokens"] + alone["image_tokens"]
    assert details["text_tokens"] + details["image_tokens"] == 3 * size
    assert details["cached_tokens"] == 2 * size


def test_inputs_that_failed_cost_nothing(keeping: LiveServer) -> None:
    good, broken = item(new_text(), new_image()), item(image_part(data_uri(b"no image")), new_text())
    mixed = details_of(keeping, broken, good, broken, on_error="per_item")
    assert mixed == details_of(keeping, good) | {"cached_tokens": 0}
    assert set(details_of(keeping, broken, on_error="per_item").values()) == {0}


def test_a_streams_end_has_the_usage_of_a_request_of_its_lines(keeping: LiveServer) -> None:
    items = [item(new_text()), item(new_image(), new_text()), item(new_video())]
    bad = item(image_part(data_uri(b"no image")))
    answers, end = exchange(keeping, [*items, bad])
    asked = usage_of(keeping, *items, bad, on_error="per_item")
    caches = {"encoder_cache_hits": 0, "encoder_cache_misses": 0}
    details = asked["prompt_tokens_details"]
    assert details["cached_tokens"] == asked["prompt_tokens"], "the stream's vectors were kept"
    fresh = asked | {"prompt_tokens_details": details | {"cached_tokens": 0}}
    assert end["usage"] | caches == fresh | caches
    assert asked["prompt_tokens"] == sum(one.get("prompt_tokens", 0) for one in answers)
    _, end = exchange(keeping, [*items, bad])
    assert end["usage"] == asked


def test_the_metrics_count_inputs_of_requests_and_of_streams(keeping: LiveServer) -> None:
    items = [item(text_part("word " * 200)), item(new_text()), item(text_part("more " * 200))]
    series = "cenote_truncated_inputs_total"
    before = keeping.metric(series)
    usage_of(keeping, *items, truncate_prompt_tokens=100)
    assert keeping.metric(series) == before + 2
    exchange(keeping, items, "?truncate_prompt_tokens=100")
    assert keeping.metric(series) == before + 4


def test_cohere_and_raw_answers_have_the_same_counts(keeping: LiveServer) -> None:
    items = [item(new_text()), item(new_image(), new_text(), new_image()), item(new_video())]
    usage = usage_of(keeping, *items)
    raw = keeping.http.post(V1, json={"inputs": items}, headers={"accept": "application/octet-stream"})
    assert int(raw.headers["x-prompt-tokens"]) == usage["prompt_tokens"]
    meta = keeping.ask(V2, {"inputs": items, "input_type": "search_document"}).json()["meta"]
    billed, details = meta["billed_units"], usage["prompt_tokens_details"]
    assert billed["images"] == 2, "a video is no image"
    assert billed["image_tokens"] == usage["image_tokens"] == details["image_tokens"] + details["video_tokens"]
    assert billed["input_tokens"] + billed["image_tokens"] == meta["tokens"]["input_tokens"]
