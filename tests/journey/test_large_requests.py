"""A vector does not depend on what it was computed beside: many texts, which run in parts, and mixed items at once."""

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, from_base64, image, image_part, text_part

NUM_TEXTS = 700
TEXTS = [f"{['red', 'green', 'blue'][i % 3]} thing number {i}" for i in range(NUM_TEXTS)]


def asked(server: LiveServer, **fields: Any) -> httpx.Response:
    return server.http.post("/v1/embeddings", json={"input": TEXTS} | fields)


def vectors_of(answer: httpx.Response) -> np.ndarray:
    assert answer.status_code == 200, answer.text[:500]
    entries = answer.json()["data"]
    assert [entry["index"] for entry in entries] == list(range(len(entries)))
    rows = [entry["embedding"] for entry in entries]
    if isinstance(rows[0], str):
        return np.stack([np.frombuffer(base64.b64decode(row), np.float32) for row in rows])
    return np.array(rows, np.float32)


@pytest.fixture(scope="module")
def alone(server: LiveServer) -> np.ndarray:
    """The vectors of every fiftieth text, each in a request of its own."""
    return np.concatenate([vectors_of(asked(server, input=[text])) for text in TEXTS[::50]])


@pytest.mark.parametrize("form", ["float", "base64"])
def test_each_text_has_its_own_vector(server: LiveServer, alone: np.ndarray, form: str) -> None:
    answer = asked(server, encoding_format=form)
    vectors = vectors_of(answer)
    assert np.abs(vectors[::50] - alone).max() < TOLERANCE
    assert len(np.unique(vectors.round(5), axis=0)) == NUM_TEXTS
    few = [asked(server, input=TEXTS[at : at + 50]).json()["usage"] for at in range(0, NUM_TEXTS, 50)]
    usage = answer.json()["usage"]
    assert usage["num_inputs"] == sum(one["num_inputs"] for one in few) == NUM_TEXTS
    assert usage["prompt_tokens"] == sum(one["prompt_tokens"] for one in few)


def test_raw_vectors_and_those_of_embed_are_the_same(server: LiveServer) -> None:
    vectors = vectors_of(asked(server))
    raw = server.http.post(
        "/v1/embeddings",
        json={"input": TEXTS, "encoding_format": "base64"},
        headers={"accept": "application/octet-stream"},
    )
    assert np.abs(np.frombuffer(raw.content, np.float32).reshape(NUM_TEXTS, -1) - vectors).max() < TOLERANCE
    embed = server.http.post("/v2/embed", json={"texts": TEXTS, "embedding_types": ["float"]})
    assert np.abs(np.array(embed.json()["embeddings"]["float"], np.float32) - vectors).max() < TOLERANCE


def test_an_input_that_fails_leaves_the_others_their_vectors(server: LiveServer, alone: np.ndarray) -> None:
    texts = [*TEXTS]
    texts[301], texts[699] = "x" * 200_000, "y" * 200_000
    entries = asked(server, input=texts, on_error="per_item").json()["data"]
    failed = [entry for entry in entries if entry["embedding"] is None]
    assert [(entry["index"], entry["error"]["param"]) for entry in failed] == [(301, "input[301]"), (699, "input[699]")]
    assert {entry["error"]["code"] for entry in failed} == {"context_length_exceeded"}
    kept = np.array([entry["embedding"] for entry in entries[:300:50]], np.float32)
    assert np.abs(kept - alone[:6]).max() < TOLERANCE


def test_what_is_refused_at_its_last_input_has_run_nothing(server: LiveServer) -> None:
    before = server.metric("cenote_batch_tokens_count")
    answer = asked(server, input=[*TEXTS, "x" * 200_000])
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, f"input[{NUM_TEXTS}]")
    assert server.metric("cenote_batch_tokens_count") == before


def test_nothing_stays_in_the_queue(server: LiveServer) -> None:
    asked(server)
    assert server.metric("cenote_queue_tokens") == server.metric("cenote_queue_inputs") == 0


NUM_MIXED = 32
NUM_CONCURRENT = 64

Item = dict[str, Any]


def item(index: int) -> Item:
    """Text, image, image with text, two images: in turn, each with its own size and content."""
    words = text_part(" ".join(f"word{index + i}" for i in range(1 + 3 * (index % 11))))
    first = image_part(image(index, 64 + 16 * (index % 7), 48 + 16 * (index % 5)))
    second = image_part(image(1000 + index % 3, 160, 64))
    kinds = ([words], [first], [first, words], [first, second])
    return {"content": kinds[index % len(kinds)]}


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return [item(index) for index in range(NUM_CONCURRENT)]


@pytest.fixture(scope="module")
def each_alone(server: LiveServer, items: list[Item]) -> np.ndarray:
    """Each item's vector from a request of its own, one after the other."""
    vectors = np.stack([server.vectors({"inputs": [one]})[0] for one in items])
    cosines = vectors @ vectors.T
    assert (cosines - 2 * np.eye(len(items)) < 0.9999).all(), "the items must differ, or a swap would go unnoticed"
    return vectors


def test_one_request_of_mixed_items_equals_each_item_alone(
    server: LiveServer, items: list[Item], each_alone: np.ndarray
) -> None:
    together = server.vectors({"inputs": items[:NUM_MIXED]})
    np.testing.assert_allclose(together, each_alone[:NUM_MIXED], rtol=0, atol=TOLERANCE)


def test_coheres_form_of_the_same_request_gives_the_same_vectors(
    server: LiveServer, items: list[Item], each_alone: np.ndarray
) -> None:
    answer = server.ask("/v2/embed", {"inputs": items[:NUM_MIXED], "embedding_types": ["base64", "float"]}).json()
    exact = np.stack([from_base64(text) for text in answer["embeddings"]["base64"]])
    written = np.array(answer["embeddings"]["float"], "<f4")
    np.testing.assert_allclose(exact, each_alone[:NUM_MIXED], rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(written, exact)


def test_a_batch_that_the_engine_has_never_seen_equals_a_server_without_a_cache(
    server: LiveServer, bare_server: LiveServer
) -> None:
    """Images that are all new, so that one step encodes many of them."""
    fresh = [{"content": [image_part(image(5000 + i, 96, 96)), text_part(f"fresh {i}")]} for i in range(16)]
    together = server.vectors({"inputs": fresh})
    solo = np.stack([bare_server.vectors({"inputs": [one]})[0] for one in reversed(fresh)])[::-1]
    np.testing.assert_allclose(together, solo, rtol=0, atol=TOLERANCE)


def test_concurrent_requests_of_both_forms_do_not_mix(
    server: LiveServer, items: list[Item], each_alone: np.ndarray
) -> None:
    def ask(index: int) -> np.ndarray:
        if index % 2:
            return server.vectors({"inputs": [items[index], items[index - 1]]})[0]
        body = {"inputs": [items[index]], "embedding_types": ["base64"]}
        return from_base64(server.ask("/v2/embed", body).json()["embeddings"]["base64"][0])

    with ThreadPoolExecutor(NUM_CONCURRENT) as pool:
        got = list(pool.map(ask, range(len(items))))
    np.testing.assert_allclose(np.stack(got), each_alone, rtol=0, atol=TOLERANCE)
