"""`on_error: per_item`: good items are answered, each bad one carries its own error, and nothing shifts."""

import base64
from typing import Any

import numpy as np
import openai
import pytest

from tests.conftest import LiveServer, data_uri, from_base64, image, image_part, text_part

BROKEN = data_uri(base64.b64decode(image(71).partition(",")[2])[:-40])
"""An image whose header is right and whose pixels end early: it fails in the decoder, after everything was checked."""
NO_IMAGE = data_uri(b"no image at all")
GOOD = [image_part(image(71)), text_part("a door")]
ITEMS = [
    {"content": GOOD},
    {"content": [image_part(BROKEN), image_part(image(72))]},
    {"content": [image_part(image(72)), text_part("a gate")]},
    {"content": [image_part(NO_IMAGE)]},
    {"content": [image_part("https://example.com/a.png")]},
    {"content": "a word"},
    {"content": [text_part("word " * 20_000)]},
]
CODES = {1: "media_undecodable", 3: "media_undecodable", 4: "media_source_refused", 6: "context_length_exceeded"}


def test_good_items_are_answered_and_bad_ones_carry_their_error(server: LiveServer) -> None:
    answer = server.ask("/v1/embeddings", {"inputs": ITEMS, "on_error": "per_item", "encoding_format": "base64"})
    body = answer.json()
    assert [entry["index"] for entry in body["data"]] == list(range(len(ITEMS)))
    for entry, item in zip(body["data"], ITEMS, strict=True):
        if (code := CODES.get(entry["index"])) is None:
            assert "error" not in entry
            want = server.vectors({"inputs": [item]})[0]
            np.testing.assert_allclose(from_base64(entry["embedding"]), want, rtol=0, atol=1e-5)
        else:
            assert entry["embedding"] is None
            error = entry["error"]
            assert (error["code"], error["index"]) == (code, entry["index"])
            assert error["param"].startswith(f"inputs[{entry['index']}]")
            assert error["request_id"] == answer.headers["x-request-id"]
    assert body["usage"]["num_inputs"] == len(ITEMS)


@pytest.mark.parametrize("index", CODES)
def test_by_default_the_first_bad_item_fails_the_request_and_is_named(server: LiveServer, index: int) -> None:
    answer = server.http.post("/v1/embeddings", json={"inputs": [ITEMS[0], ITEMS[index], ITEMS[0]]})
    error = answer.json()["error"]
    assert (error["code"], error["index"]) == (CODES[index], 1)


def test_usage_counts_what_was_answered_and_nothing_else(server: LiveServer) -> None:
    good = server.ask("/v1/embeddings", {"inputs": [ITEMS[0], ITEMS[5]]}).json()["usage"]
    mixed = server.ask("/v1/embeddings", {"inputs": [ITEMS[0], ITEMS[3], ITEMS[5]], "on_error": "per_item"})
    usage = mixed.json()["usage"]
    assert (usage["prompt_tokens"], usage["image_tokens"]) == (good["prompt_tokens"], good["image_tokens"])


def test_an_image_of_a_failed_item_still_serves_another_item(server: LiveServer) -> None:
    """The failed item's good image was decoded; its pixels go to the item that is well."""
    url = image(73)
    inputs = [{"content": [image_part(url), image_part(BROKEN)]}, {"content": [image_part(url)]}]
    data = server.ask("/v1/embeddings", {"inputs": inputs, "on_error": "per_item"}).json()["data"]
    assert data[0]["error"]["code"] == "media_undecodable"
    np.testing.assert_allclose(data[1]["embedding"], server.vectors({"inputs": inputs[1:]})[0], rtol=0, atol=1e-5)
    assert server.metric("cenote_pixel_arena_bytes") == 0


def test_a_request_whose_items_all_fail_is_answered_all_the_same(server: LiveServer) -> None:
    for path in ("/v1/embeddings", "/v2/embed"):
        body = server.ask(path, {"inputs": [ITEMS[3]] * 3, "on_error": "per_item"}).json()
        errors = body["errors"] if path == "/v2/embed" else [entry["error"] for entry in body["data"]]
        assert [(error["index"], error["code"]) for error in errors] == [(i, "media_undecodable") for i in range(3)]


def test_coheres_lists_stay_parallel_to_the_inputs(server: LiveServer) -> None:
    types = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    request = {"inputs": [ITEMS[5], ITEMS[3], ITEMS[0]], "embedding_types": types, "on_error": "per_item"}
    body = server.ask("/v2/embed", request).json()
    assert set(body["embeddings"]) == set(types)
    for rows in body["embeddings"].values():
        assert [bool(len(row)) for row in rows] == [True, False, True]
    assert [(error["index"], error["code"]) for error in body["errors"]] == [(1, "media_undecodable")]
    assert len(body["images"]) == 1


def test_an_answer_without_failures_looks_as_always(server: LiveServer) -> None:
    for path, extra in (("/v1/embeddings", "data"), ("/v2/embed", "embeddings")):
        plain = server.ask(path, {"inputs": [ITEMS[5]]}).json()
        asked = server.ask(path, {"inputs": [ITEMS[5]], "on_error": "per_item"}).json()
        one, other = (np.array(vectors_of(answer[extra])) for answer in (plain, asked))
        assert np.abs(one - other).max() <= 2e-6  # computed twice: what a prompt begins with may be kept by then
        assert set(plain) == set(asked)


def vectors_of(answered: Any) -> list[list[float]]:
    return [entry["embedding"] for entry in answered] if isinstance(answered, list) else answered["float"]


def test_a_malformed_body_fails_as_a_whole(server: LiveServer) -> None:
    inputs: list[Any] = [ITEMS[5], {"content": [{"type": "sound"}]}]
    answer = server.http.post("/v1/embeddings", json={"inputs": inputs, "on_error": "per_item"})
    assert answer.status_code == 400
    assert answer.json()["error"]["index"] == 1


def test_the_openai_client_reads_the_good_ones_and_sees_none_for_the_others(server: LiveServer) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
        extra = {"inputs": [ITEMS[5], ITEMS[3]], "on_error": "per_item"}
        answer = client.embeddings.create(model="builtin", input=openai.omit, extra_body=extra)
    assert len(answer.data[0].embedding) > 0
    assert answer.data[1].embedding is None
    assert answer.data[1].error["code"] == "media_undecodable"  # type: ignore[attr-defined]
