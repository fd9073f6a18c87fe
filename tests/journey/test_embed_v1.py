"""`/v1/embed` asked by itself; what Cohere's client makes of it is in tests/clients."""

from typing import Any

import pytest

from tests.conftest import LiveServer, image

FIELDS = {"response_type", "id", "embeddings", "texts", "meta"}


def test_the_bare_answer_has_cohere_s_fields_and_no_other(server: LiveServer) -> None:
    answer = server.ask("/v1/embed", {"texts": ["x"]})
    assert set(answer.json()) == FIELDS
    assert answer.headers["x-encoder-cache"] == "hit=0, miss=0"


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({}, "missing_input", "exactly one of `texts`, `images`, got none"),
        ({"texts": ["x"], "images": [image(1)]}, "conflicting_input", "`texts` and `images`"),
        ({"inputs": [{"content": "x"}]}, "unknown_field", "`inputs`"),
        ({"texts": ["x"], "input_type": "nothing"}, "invalid_request", "search_document"),
    ],
)
def test_a_refusal_has_cohere_s_shape(server: LiveServer, body: dict[str, Any], code: str, words: str) -> None:
    answer = server.http.post("/v1/embed", json=body)
    said = answer.json()
    assert answer.status_code == 400
    assert (said["error"]["code"], said["id"]) == (code, answer.headers["x-request-id"])
    assert words in said["message"]
