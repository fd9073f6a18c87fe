"""A field that is null is absent, whether it is known or not."""

import json

import msgspec
import pytest

from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.tokenize import TokenizeRequest
from schemas.parsing.decode import decode
from tests.schemas.parsing.refused import refusal, refused


@pytest.mark.parametrize("type_", [EmbeddingRequest, EmbedRequest, TokenizeRequest])
def test_null_means_absent_for_every_optional_field(type_: type[msgspec.Struct]) -> None:
    optional = {f.encode_name: None for f in msgspec.structs.fields(type_) if not f.required}
    assert len(optional) >= 10
    assert decode(json.dumps(optional).encode(), type_) == type_()


@pytest.mark.parametrize(
    "body",
    [
        {"input": "a", "logprobs": None},
        {"input": "a", "logprobs": None, "x": None, "model": None},
        {"inputs": [{"content": [{"type": "text", "text": "a", "image_url": None}], "uuid": None}]},
        {"messages": [{"role": "user", "content": "a", "name": None, "tool_calls": None}]},
    ],
)
@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_an_unknown_field_that_is_null_is_absent(body: dict, ignore_unknown: bool) -> None:
    request = decode(json.dumps(body).encode(), EmbeddingRequest, ignore_unknown=ignore_unknown)
    assert msgspec.to_builtins(request) == msgspec.to_builtins(
        decode(json.dumps(without_nulls(body)).encode(), EmbeddingRequest)
    )


@pytest.mark.parametrize(("rest", "param"), [(b"", None), (b",", None), (b'"\xff"}', "input"), (b"[" * 100_000, None)])
def test_what_is_broken_behind_an_unknown_null_is_no_json(rest: bytes, param: str | None) -> None:
    error = refusal(b'{"logprobs": null, "input": ' + rest)
    assert (error.code, error.param) == ("invalid_json", param)


def without_nulls(value: object) -> object:
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return value


@pytest.mark.parametrize(
    ("body", "code", "param", "words"),
    [
        ({"x": None, "y": 1, "input": "a"}, "unknown_field", "y", "unknown field"),
        ({"x": None, "input": "a", "dimensions": "3"}, "invalid_request", "dimensions", "got a string"),
        (
            {"x": None, "inputs": [{"content": [{"type": "text", "text": None}]}]},
            "invalid_request", "inputs[0].content[0].text", "expected a string, got null",
        ),
        ({"x": None, "messages": [{"role": "user"}]}, "invalid_request", "messages[0].content", "required"),
    ],
)  # fmt: skip
def test_other_errors_beside_a_null_are_reported(body: dict, code: str, param: str, words: str) -> None:
    error = refused(body)
    assert (error.code, error.param) == (code, param)
    assert words in error.message


def test_a_body_of_very_many_members_is_not_looked_into_again() -> None:
    error = refused({"x": None, "input": ["a"] * 300_000})
    assert (error.code, error.param) == ("unknown_field", "x")
