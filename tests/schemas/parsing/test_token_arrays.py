"""Token ids as input: refused by default, and under rules of their own where a server accepts them."""

import json

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.errors import RuleError
from schemas.limits import MAX_INPUTS
from schemas.parsing.decode import decode
from schemas.parsing.rules import check_embedding_request, token_arrays


def check(*, accepts: bool = True, **body: object) -> EmbeddingRequest:
    request = decode(json.dumps(body).encode(), EmbeddingRequest)
    check_embedding_request(request, accepts_token_arrays=accepts)
    return request


@pytest.mark.parametrize(
    ("items", "arrays"),
    [([1, 2], [[1, 2]]), ([[1, 2], [3]], [[1, 2], [3]]), ([0] * 5000, [[0] * 5000]), (["a"], []), ("a", [])],
)
def test_accepted_ids_become_one_prompt_or_one_each(items: object, arrays: list[list[int]]) -> None:
    assert token_arrays(check(input=items).input) == arrays


@pytest.mark.parametrize(
    ("body", "code", "param", "index"),
    [
        ({"input": [1, "a"]}, "invalid_request", "input[1]", None),
        ({"input": ["a", 1]}, "invalid_request", "input[1]", None),
        ({"input": [1, [2]]}, "invalid_request", "input[1]", None),
        ({"input": [[1], "a"]}, "invalid_request", "input[1]", None),
        ({"input": [[1], []]}, "empty_input", "input[1]", 1),
        ({"input": [[]]}, "empty_input", "input[0]", 0),
        ({"input": [[1]] * (MAX_INPUTS + 1)}, "too_many_inputs", "input", None),
        ({"input": [1], "instruction": "Find."}, "conflicting_input", "instruction", None),
        ({"input": [[1]], "add_special_tokens": True}, "conflicting_input", "add_special_tokens", None),
        ({"input": [[1]], "add_generation_prompt": True}, "conflicting_input", "add_generation_prompt", None),
        ({"input": [1, 2], "late_chunking": True}, "conflicting_input", "late_chunking", None),
        ({"input": [[1], [2]], "late_chunking": True}, "conflicting_input", "late_chunking", None),
    ],
)
def test_what_contradicts_ids_is_refused(body: dict, code: str, param: str, index: int | None) -> None:
    with pytest.raises(RuleError) as caught:
        check(**body)
    assert (caught.value.code, caught.value.param, caught.value.index) == (code, param, index)


def test_flags_that_add_nothing_agree_with_ids() -> None:
    check(input=[1], add_special_tokens=False, add_generation_prompt=False, truncate_prompt_tokens=5)
    check(input=[1], late_chunking=False)


@pytest.mark.parametrize("accepts", [False, True])
def test_more_texts_than_allowed_are_refused(accepts: bool) -> None:
    with pytest.raises(RuleError, match="at most 2048 items") as caught:
        check(accepts=accepts, input=["a"] * (MAX_INPUTS + 1))
    assert (caught.value.code, caught.value.param) == ("too_many_inputs", "input")
    check(accepts=accepts, input=["a"] * MAX_INPUTS)
