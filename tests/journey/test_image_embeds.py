"""Features out and in again, through the live server: the vectors are those of the images, and the tower rests."""

import base64
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from tests.builders import npy_bytes
from tests.conftest import CHECKPOINT, TOLERANCE, Gained, LiveServer, from_base64, image, image_part, text_part

ASPECTS = ("colors", "shapes", "mood", "objects", "text", "layout", "style", "light")
SIZES = ((96, 64), (64, 64), (160, 96), (32, 192), (224, 128))
HIDDEN, WIDTH = 128, 384
MAX_FEATURES_BYTES = 40 * WIDTH * 4
NUM_CONCURRENT = 64

seeds = count(50_000)
"""Each test draws images that no other test has sent."""


def images(num: int) -> list[dict[str, Any]]:
    return [image_part(image(next(seeds), *SIZES[i % len(SIZES)])) for i in range(num)]


def computed(server: LiveServer, images: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = server.ask("/v1/image_embeds", {"images": images, **options}).json()
    return answer


def parts_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry["part"] for entry in answer["data"]]


def file_of(part: dict[str, Any]) -> bytes:
    return base64.b64decode(part["image_embeds"]["image_embeds"])


def tensor_of(part: dict[str, Any]) -> torch.Tensor:
    (tensor,) = load(file_of(part)).values()
    return tensor


def features_part(tensor: torch.Tensor, grid: list[Any]) -> dict[str, Any]:
    return raw_part(save({"image_embeds": tensor.contiguous()}), grid)


def raw_part(file: bytes, grid: list[Any]) -> dict[str, Any]:
    text = base64.b64encode(file).decode()
    return {"type": "image_embeds", "image_embeds": {"image_embeds": text, "image_grid_thw": grid}}


def bodies(*contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same items under eight instructions."""
    items = [{"content": content} for content in contents]
    return [{"inputs": items, "instruction": f"Represent the {aspect} of the image."} for aspect in ASPECTS]


def vectors(server: LiveServer, asked: list[dict[str, Any]]) -> np.ndarray:
    return np.stack([server.vectors(body) for body in asked])


@pytest.mark.parametrize("num", [1, 2, 5])
@pytest.mark.parametrize("form", ["safetensors", "npy"])
def test_features_posted_back_as_they_came_give_the_vectors_of_the_images(
    server: LiveServer, bare_server: LiveServer, num: int, form: str
) -> None:
    raw = images(num)
    answer = computed(server, raw, features_format=form)
    assert answer["usage"]["encoder_cache_misses"] == num
    assert [entry["shape"][1] for entry in answer["data"]] == [WIDTH] * num
    gained, content = Gained(server), [*parts_of(answer), text_part("what is it?")]
    got = vectors(server, bodies(content))
    assert gained("vision_encodes_total") == 0
    want = vectors(bare_server, bodies([*raw, text_part("what is it?")]))  # no cache there: nothing is shared
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)
    assert len({row.tobytes() for row in got}) == len(ASPECTS)


def test_features_of_a_server_without_a_cache_are_the_same_bits(server: LiveServer, bare_server: LiveServer) -> None:
    raw = images(3)
    ours, theirs = computed(server, raw), computed(bare_server, raw)
    assert [file_of(part) for part in parts_of(ours)] == [file_of(part) for part in parts_of(theirs)]
    assert [entry["dtype"] for entry in ours["data"]] == ["float32"] * 3
    again = computed(server, raw)
    assert (again["usage"]["encoder_cache_hits"], again["usage"]["encoder_cache_misses"]) == (3, 0)
    assert [file_of(part) for part in parts_of(again)] == [file_of(part) for part in parts_of(ours)]


def test_images_and_features_mix_in_conversations_and_items_on_every_route(server: LiveServer) -> None:
    raw = images(4)
    sent = parts_of(computed(server, raw))
    for part in sent:
        del part["uuid"]  # features alone
    mixed, words = [raw[0], sent[1], sent[2], raw[3]], text_part("which one?")
    want = server.vectors({"inputs": [{"content": [*raw, words]}, {"content": raw[:2]}, {"content": "text"}]})
    gained = Gained(server)
    items = [{"content": [*mixed, words]}, {"content": sent[:2]}, {"content": "text"}]
    conversations = [[{"role": "user", "content": item["content"]}] for item in items]
    for body in ({"inputs": items}, {"messages": conversations}):
        np.testing.assert_allclose(server.vectors(body), want, rtol=0, atol=1e-6)
    cohere = server.ask("/v2/embed", {"inputs": items, "embedding_types": ["base64"]}).json()
    np.testing.assert_allclose(
        np.stack([from_base64(row) for row in cohere["embeddings"]["base64"]]), want, rtol=0, atol=1e-6
    )
    assert gained("vision_encodes_total") == 0
    forms = [(one["format"], one["width"], one["height"]) for one in cohere["images"]]
    assert forms[:4] == [("png", 96, 64), ("image_embeds", 64, 64), ("image_embeds", 160, 96), ("png", 32, 192)]
    usage = server.ask("/v1/embeddings", {"inputs": items}).json()["usage"]
    assert (usage["precomputed_images"], usage["encoder_cache_hits"], usage["encoder_cache_misses"]) == (4, 2, 0)


@pytest.mark.parametrize("nested", [False, True])
def test_one_stacked_tensor_with_several_grids_is_its_images_one_after_another(
    server: LiveServer, nested: bool
) -> None:
    raw = images(5)
    sent = parts_of(computed(server, raw))
    grids = [part["image_embeds"]["image_grid_thw"] for part in sent]
    stacked = torch.cat([tensor_of(part) for part in sent])
    grid = grids if nested else [number for one in grids for number in one]
    gained = Gained(server)
    got = vectors(server, bodies([features_part(stacked, grid)], [features_part(stacked[None], grid)]))
    assert gained("vision_encodes_total") == 0
    np.testing.assert_allclose(got, vectors(server, bodies(raw, raw)), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-4), ("bfloat16", 2e-3)])
def test_features_in_sixteen_bits_give_nearly_the_vectors_of_the_images(
    server: LiveServer, dtype: str, tolerance: float
) -> None:
    raw = images(5)
    answer = computed(server, raw, embed_dtype=dtype)
    assert {str(tensor_of(part).dtype) for part in parts_of(answer)} == {f"torch.{dtype}"}
    got, want = vectors(server, bodies(parts_of(answer))), vectors(server, bodies(raw))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance)
    assert not np.array_equal(got, want)


def test_each_image_has_a_handle_that_stands_for_it_alone(server: LiveServer) -> None:
    raw = images(2)
    raw[1]["uuid"] = "shelf-7"
    data = computed(server, raw)["data"]
    assert data[0]["part"]["uuid"] == "img-" + data[0]["content_hash"][:32]
    assert data[1]["part"]["uuid"] == "shelf-7"
    gained = Gained(server)
    names = [{"type": "image_embeds", "uuid": entry["part"]["uuid"]} for entry in data]
    np.testing.assert_array_equal(vectors(server, bodies(names)), vectors(server, bodies(raw)))
    assert gained("vision_encodes_total") == 0
    other = parts_of(computed(server, images(1)))[0] | {"uuid": "shelf-7"}
    answer = server.http.post("/v1/embeddings", json={"inputs": [{"content": [other]}]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "uuid_conflict")
    unknown = server.http.post("/v1/image_embeds", json={"images": [{"type": "image_url", "uuid": "nobody"}]})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, "cache_miss")


def test_one_image_that_is_broken_leaves_the_others_alone_when_asked_to(server: LiveServer) -> None:
    good, (head, text) = images(2), image(next(seeds)).split(",")
    cut = f"{head},{text[: len(text) // 8 * 4]}"
    mixed = [good[0], image_part(cut), image_part("data:image/png;base64,AAAA"), good[1]]
    refused = server.http.post("/v1/image_embeds", json={"images": mixed})
    assert (refused.status_code, refused.json()["error"]["index"]) == (422, 2)  # found first: not even a header
    assert server.http.post("/v1/image_embeds", json={"images": mixed[:2]}).json()["error"]["index"] == 1
    data = computed(server, mixed, on_error="per_item")["data"]
    assert [entry["index"] for entry in data] == [0, 1, 2, 3]
    assert [entry.get("error", {}).get("param") for entry in data] == [
        None, "images[1].image_url", "images[2].image_url", None,
    ]  # fmt: skip
    assert ["part" in entry for entry in data] == [True, False, False, True]
    assert [file_of(data[i]["part"]) for i in (0, 3)] == [file_of(part) for part in parts_of(computed(server, good))]


def spoiled(value: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    features = torch.zeros(6, WIDTH)
    features[4, 3] = value
    return features.to(dtype)


def torch_file() -> bytes:
    buffer = io.BytesIO()
    torch.save(torch.zeros(6, WIDTH), buffer)
    return buffer.getvalue()


ZEROS, GRID = torch.zeros(6, WIDTH), [1, 4, 6]
CONTENT, NUMBERS = "image_embeds.image_embeds", "image_embeds.image_grid_thw"
WRONG = {
    "one row too few": (features_part(ZEROS[1:], GRID), CONTENT, "got 5 x 384, expected 6 x 384"),
    "no deepstack": (features_part(ZEROS[:, :HIDDEN], GRID), CONTENT, "deepstack layers are missing"),
    "float64": (features_part(ZEROS.double(), GRID), CONTENT, "F64"),
    "nan": (features_part(spoiled(float("nan")), GRID), CONTENT, "not finite in row 4, column 3"),
    "infinite": (features_part(spoiled(float("inf"), torch.half), GRID), CONTENT, "not finite in row 4, column 3"),
    "too large": (features_part(spoiled(1e30), GRID), CONTENT, "beyond 10000 in row 4, column 3"),
    "torch.save": (raw_part(torch_file(), GRID), CONTENT, "safetensors.torch.save("),
    "big-endian": (raw_part(npy_bytes(ZEROS.numpy().astype(">f4")), GRID), CONTENT, "big-endian"),
    "truncated": (raw_part(save({"image_embeds": ZEROS})[:-7], GRID), CONTENT, "bytes of numbers"),
    "no file": (raw_part(b"GIF89a", GRID), CONTENT, "neither a safetensors nor an npy"),
    "odd grid": (features_part(ZEROS, [1, 3, 8]), NUMBERS, "even"),
    "two frames": (features_part(ZEROS, [2, 2, 6]), NUMBERS, "temporal size of 2"),
    "half a grid": (features_part(ZEROS, [1, 4]), NUMBERS, "three numbers"),
    "huge grid": (features_part(ZEROS, [1, 2**30, 2**30]), CONTENT, "expected 288230376151711744 x 384"),
}
"""A part that must be refused, the end of the path that is named, and words of the sentence."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_features_are_refused_with_their_place_before_anything_is_queued(server: LiveServer, name: str) -> None:
    part, param, words = WRONG[name]
    items = [{"content": "good"}, {"content": [text_part("a"), part]}]
    gained = Gained(server)
    error = server.refusal("/v1/embeddings", {"inputs": items})
    assert (error["code"], error["index"]) == ("invalid_image_embeds", 1)
    assert error["param"] == f"inputs[1].content[1].{param}"
    assert words in error["message"]
    assert gained("batch_inputs_count") == 0
    data = server.ask("/v1/embeddings", {"inputs": items, "on_error": "per_item"}).json()["data"]
    assert [entry["embedding"] is None for entry in data] == [False, True]
    assert data[1]["error"]["code"] == "invalid_image_embeds"


def test_features_with_another_grid_of_as_many_patches_are_refused(server: LiveServer) -> None:
    (part,) = parts_of(computed(server, [image_part(image(next(seeds), 192, 32))]))
    del part["uuid"]
    frames, height, width = part["image_embeds"]["image_grid_thw"]
    assert server.vectors({"inputs": [{"content": [part]}]}).shape[0] == 1
    part["image_embeds"]["image_grid_thw"] = [frames, width, height]
    answer = server.http.post("/v1/embeddings", json={"inputs": [{"content": [part]}]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_image_embeds")
    assert f"its grids are {frames},{height},{width}, got" in answer.json()["error"]["message"]


def test_features_of_nothing_but_zeros_are_fine(server: LiveServer) -> None:
    row = server.vectors({"inputs": [{"content": [features_part(torch.zeros(6, WIDTH), [1, 4, 6])]}]})[0]
    assert abs(float(np.linalg.norm(row)) - 1) < TOLERANCE


def test_features_too_long_for_the_model_are_refused_by_their_tokens(server: LiveServer) -> None:
    part = features_part(torch.zeros(8_200, WIDTH).half(), [1, 4, 8_200])
    error = server.refusal("/v1/embeddings", {"inputs": [{"content": [part]}]})
    assert error["code"] == "context_length_exceeded"
    assert "8192" in error["message"]


def test_sixty_four_requests_at_once_give_what_each_gives_alone(server: LiveServer) -> None:
    raw = images(8)
    sent = parts_of(computed(server, raw))
    asked = [
        {"inputs": [{"content": [sent[i % 8], (sent if i % 2 else raw)[i * 5 % 8], text_part(f"number {i}")]}]}
        for i in range(NUM_CONCURRENT)
    ]
    alone = np.concatenate([server.vectors(body) for body in asked])
    with ThreadPoolExecutor(NUM_CONCURRENT) as pool:
        at_once = np.concatenate(list(pool.map(server.vectors, asked)))
    np.testing.assert_allclose(at_once, alone, rtol=0, atol=TOLERANCE)
    assert len({row.tobytes() for row in alone}) == NUM_CONCURRENT
    assert server.metric("cenote_pixel_arena_bytes") == 0


@pytest.fixture(scope="module")
def tight(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    """Answers of forty visual tokens, a cache of next to nothing, and an arena of a few images."""
    flags = ("--max-features-bytes", str(MAX_FEATURES_BYTES), "--encoder-cache-bytes", "20000")
    arena = ("--pixel-arena-bytes", "200000")
    server = start_server("--model", str(CHECKPOINT), *flags, *arena).wait_until_ready()
    yield server
    server.stop()


@pytest.mark.slow
def test_an_answer_that_would_be_too_large_is_refused_with_its_numbers_before_the_tower_runs(
    tight: LiveServer,
) -> None:
    gained = Gained(tight)
    error = tight.refusal("/v1/image_embeds", {"images": images(5)}, 413)
    assert (error["code"], error["param"]) == ("media_too_large", "images")
    num_tokens = sum(width * height // 1024 for width, height in SIZES)
    for number in (num_tokens, WIDTH * 4, num_tokens * WIDTH * 4, MAX_FEATURES_BYTES):
        assert str(number) in error["message"]
    assert gained("vision_encodes_total") == 0
    assert len(parts_of(computed(tight, images(2)))) == 2


@pytest.mark.slow
def test_features_that_are_not_kept_are_sent_to_the_engine_again(tight: LiveServer, server: LiveServer) -> None:
    raw = [image_part(image(next(seeds), 96, 64)) for _ in range(6)]
    sent = parts_of(computed(server, raw))
    asked = [{"inputs": [{"content": [part]}]} for part in sent]
    want = [server.vectors(body) for body in asked]
    gained = Gained(tight)
    for _ in range(3):
        for body, rows in zip(asked, want, strict=True):
            np.testing.assert_allclose(tight.vectors(body), rows, rtol=0, atol=1e-6)
    assert gained("vision_encodes_total") == 0
    assert 0 < tight.metric("cenote_encoder_cache_bytes") <= 20_000
    assert tight.metric("cenote_encoder_cache_tier_rejected_total", tier="device") > 6
    assert tight.metric("cenote_pixel_arena_bytes") == 0


def test_features_larger_than_the_whole_arena_are_refused_with_both_numbers(tight: LiveServer) -> None:
    part = features_part(torch.zeros(200, WIDTH), [1, 20, 40])
    error = tight.refusal("/v1/embeddings", {"inputs": [{"content": [part]}]}, 413)
    assert (error["code"], error["index"]) == ("media_too_large", 0)
    assert str(200 * WIDTH * 4) in error["message"]
    assert "200000" in error["message"]


def test_the_model_says_how_wide_its_features_are(server: LiveServer) -> None:
    card = server.http.get("/v1/models").json()["data"][0]
    assert card["image_embeds_width"] == WIDTH


def test_the_route_says_where_time_went(server: LiveServer) -> None:
    form = {"features_format": "npy", "embed_dtype": "float16"}  # which npy files have, and not bfloat16
    answer: httpx.Response = server.ask("/v1/image_embeds", {"images": images(2), **form})
    assert answer.headers["x-encoder-cache"] == "hit=0, miss=2"
    for name in ("x-media-time", "x-queue-time", "x-inference-time", "x-total-time"):
        assert float(answer.headers[name]) >= 0
