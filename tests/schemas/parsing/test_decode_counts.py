"""Empty lists and lists of more items than allowed are refused."""

import json

import pytest

from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT, MAX_TOKEN_IDS
from schemas.parsing.decode import decode
from tests.schemas.parsing.refused import TEXT, refused, with_content

V1_EMPTY = [
    ({"input": []}, "input", None),
    ({"inputs": []}, "inputs", None),
    ({"messages": []}, "messages", None),
    ({"messages": [[]]}, "messages[0]", 0),
    ({"messages": [{"role": "user", "content": []}]}, "messages[0].content", None),
    (with_content([]), "inputs[1].content", 1),
]
V1_MANY = [
    ({"input": ["a"] * (MAX_TOKEN_IDS + 1)}, "input"),
    ({"inputs": [{"content": "a"}] * (MAX_INPUTS + 1)}, "inputs"),
    ({"messages": [[{"role": "user", "content": "a"}]] * (MAX_INPUTS + 1)}, "messages"),
    (with_content([TEXT] * (MAX_PARTS_PER_INPUT + 1)), "inputs[1].content"),
]
V2 = {"texts": "a", "images": "a", "inputs": {"content": "a"}}
"""Fields of `/v2/embed`, and an item of each."""


@pytest.mark.parametrize(("body", "param", "index"), V1_EMPTY)
def test_an_empty_list_or_item_is_refused(body: object, param: str, index: int | None) -> None:
    error = refused(body)
    assert (error.code, error.param, error.index) == ("empty_input", param, index)


@pytest.mark.parametrize(("body", "param"), V1_MANY)
def test_more_items_than_allowed_are_refused(body: object, param: str) -> None:
    error = refused(body)
    assert (error.code, error.param) == ("too_many_inputs", param)


@pytest.mark.parametrize("field", V2)
@pytest.mark.parametrize(("num", "code"), [(0, "empty_input"), (MAX_INPUTS + 1, "too_many_inputs")])
def test_cohere_lists_have_the_same_bounds(field: str, num: int, code: str) -> None:
    assert refused({"model": "m", field: [V2[field]] * num}, EmbedRequest).code == code


def test_as_many_items_as_allowed_are_taken() -> None:
    request = decode(json.dumps({"model": "m", "input": ["a"] * MAX_INPUTS}).encode(), EmbeddingRequest)
    assert len(request.input) == MAX_INPUTS
