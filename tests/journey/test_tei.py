"""text-embeddings-inference's `/embed` and `/info`: bare vectors, the same as `/v1/embeddings` gives."""

from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer

TEXTS = ["a green door", "", "a red bicycle"]


def vectors(server: LiveServer, **body: Any) -> np.ndarray:
    return np.array(server.ask("/embed", body).json(), "<f4")


def assert_same(got: np.ndarray, want: np.ndarray) -> None:
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)


def test_texts_become_a_list_of_vectors(server: LiveServer) -> None:
    assert_same(vectors(server, inputs=TEXTS), server.vectors({"input": TEXTS}))
    assert_same(vectors(server, inputs=TEXTS[0]), server.vectors({"input": TEXTS[0]}))


@pytest.mark.parametrize(
    ("body", "same"),
    [
        ({"prompt_name": "query"}, {"input_type": "query"}),
        ({"normalize": False}, {"normalize": False}),
        ({"dimensions": 64}, {"dimensions": 64}),
    ],
)
def test_each_option_is_that_of_the_other_route(server: LiveServer, body: Any, same: Any) -> None:
    got, want = vectors(server, inputs=TEXTS, **body), server.vectors({"input": TEXTS, **same})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_long_texts_are_cut_unless_they_may_not_be(server: LiveServer) -> None:
    long = "b " * 20_000 + "c"
    left, right = vectors(server, inputs=long, truncation_direction="Left"), vectors(server, inputs=long, truncate=True)
    assert_same(right, server.vectors({"input": long, "truncate": "END"}))
    assert_same(left, server.vectors({"input": long, "truncate": "START"}))
    error = server.http.post("/embed", json={"inputs": ["a", long], "truncate": False}).json()["error"]
    assert (error["code"], error["param"], error["index"]) == ("context_length_exceeded", "inputs[1]", 1)


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "invalid_request", "inputs"),
        ({"inputs": "a", "dimensions": 5}, "invalid_dimensions", "dimensions"),
    ],
)
def test_what_is_wrong_is_named(server: LiveServer, body: Any, code: str, param: str) -> None:
    error = server.refusal("/embed", body)
    assert (error["code"], error["param"]) == (code, param)


def test_info_says_what_is_served(server: LiveServer) -> None:
    info = server.http.get("/info").json()
    card = server.http.get("/v1/models").json()["data"][0]
    assert (info["model_id"], info["model_dtype"]) == (card["id"], card["dtype"])
    assert (info["max_input_length"], info["max_client_batch_size"]) == (card["max_tokens"], card["max_inputs"])
    assert info["model_type"] == {"embedding": {"pooling": card["pooling"]}}
