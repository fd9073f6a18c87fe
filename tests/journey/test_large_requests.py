"""Requests of many texts, which run in parts: each text has its own vector, whatever becomes of others."""

import base64
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import LiveServer

NUM_TEXTS = 700
TEXTS = [f"{['red', 'green', 'blue'][i % 3]} thing number {i}" for i in range(NUM_TEXTS)]
TOLERANCE = 1e-5


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
