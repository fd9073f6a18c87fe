"""Empty lists and lists of more items than allowed are refused."""

import json

import pytest

from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT, MAX_TOKEN_IDS
from schemas.parsing.decode import decode
from tests.schemas.parsing.refused import TEXT, refused, with_content


@pytest.mark.parametrize(
    ("body", "param", "index"),
    [
        ({"model": "m", "input": []}, "input", None),
        ({"model": "m", "inputs": []}, "inputs", None),
        ({"model": "m", "messages": []}, "messages", None),
        ({"model": "m", "messages": [[]]}, "messages[0]", 0),
        ({"model": "m", "messages": [{"role": "user", "content": []}]}, "messages[0].content", None),
        (with_content([]), "inputs[1].content", 1),
    ],
)
def test_an_empty_list_or_item_is_refused(body: object, param: str, index: int | None) -> None:
    error = refused(body)
    assert (error.code, error.param, error.index) == ("empty_input", param, index)


@pytest.mark.parametrize("field", ["texts", "images", "inputs"])
def test_an_empty_cohere_list_is_refused(field: str) -> None:
    assert refused({"model": "m", field: []}, EmbedRequest).code == "empty_input"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": "m", "input": ["a"] * (MAX_TOKEN_IDS + 1)}, "input"),
        ({"model": "m", "inputs": [{"content": "a"}] * (MAX_INPUTS + 1)}, "inputs"),
        ({"model": "m", "messages": [[{"role": "user", "content": "a"}]] * (MAX_INPUTS + 1)}, "messages"),
        (with_content([TEXT] * (MAX_PARTS_PER_INPUT + 1)), "inputs[1].content"),
    ],
)
def test_more_items_than_allowed_are_refused(body: object, param: str) -> None:
    error = refused(body)
    assert (error.code, error.param) == ("too_many_inputs", param)


@pytest.mark.parametrize("field", ["texts", "images", "inputs"])
def test_more_cohere_items_than_allowed_are_refused(field: str) -> None:
    item = {"content": "a"} if field == "inputs" else "a"
    assert refused({"model": "m", field: [item] * (MAX_INPUTS + 1)}, EmbedRequest).code == "too_many_inputs"


def test_as_many_items_as_allowed_are_taken() -> None:
    request = decode(json.dumps({"model": "m", "input": ["a"] * MAX_INPUTS}).encode(), EmbeddingRequest)
    assert len(request.input) == MAX_INPUTS
