"""With `--unknown-fields ignore` unknown fields vanish at every depth, and nothing else changes."""

import json

import msgspec
import pytest

from schemas.content.messages import Message
from schemas.content.parts import Content, ImageUrl, ImageUrlPart, TextPart
from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import StreamOptions
from schemas.errors import RuleError
from schemas.parsing.decode import decode

BODY = {
    "model": "m",
    "x": {"y": [[[[1]]]]},
    "inputs": [
        {
            "uuid": "u",
            "content": [
                {"x": 1, "type": "image_url", "image_url": {"url": "a", "x": 1}},
                {"cache": [], "text": "b", "type": "text"},
            ],
        }
    ],
}
CLEAN = {
    "model": "m",
    "inputs": [{"content": [{"type": "image_url", "image_url": {"url": "a"}}, {"type": "text", "text": "b"}]}],
}


@pytest.mark.parametrize("type_", [EmbeddingRequest, EmbedRequest])
def test_unknown_fields_are_skipped_at_every_depth(type_: type[msgspec.Struct]) -> None:
    loose = decode(json.dumps(BODY).encode(), type_, ignore_unknown=True)
    strict = decode(json.dumps(CLEAN).encode(), type_)
    assert msgspec.to_builtins(loose) == msgspec.to_builtins(strict)


def test_what_comes_out_is_of_the_same_types() -> None:
    request = decode(json.dumps(BODY).encode(), EmbeddingRequest, ignore_unknown=True)
    item = request.inputs[0]
    assert isinstance(request, EmbeddingRequest)
    assert isinstance(item, Content)
    assert isinstance(item.content[0], ImageUrlPart)
    assert isinstance(item.content[0].image_url, ImageUrl)
    assert isinstance(item.content[1], TextPart)


def test_messages_of_a_conversation_are_messages() -> None:
    raw = b'{"model":"m","messages":[[{"role":"user","name":"n","content":"a"}]]}'
    request = decode(raw, EmbeddingRequest, ignore_unknown=True)
    assert isinstance(request.messages[0][0], Message)


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"model": "m", "x": 1, "dimensions": "3"}, "invalid_request", "dimensions"),
        ({"model": "m", "x": 1, "input": []}, "empty_input", "input"),
        ({"x": 1, "messages": [{"role": "user"}]}, "invalid_request", "messages[0].content"),
    ],
)
def test_known_fields_are_still_checked(body: object, code: str, param: str) -> None:
    with pytest.raises(RuleError) as caught:
        decode(json.dumps(body).encode(), EmbeddingRequest, ignore_unknown=True)
    assert (caught.value.code, caught.value.param) == (code, param)


def test_strict_is_the_default() -> None:
    with pytest.raises(RuleError) as caught:
        decode(json.dumps(BODY).encode(), EmbeddingRequest)
    assert (caught.value.code, caught.value.param) == ("unknown_field", "x")


@pytest.mark.parametrize("name", ["dimension", "output_dimension", "output_dtype", "embedding_types", "encoding"])
@pytest.mark.parametrize("type_", [EmbeddingRequest, StreamOptions])
def test_a_field_that_would_change_numbers_or_lengths_is_refused_all_the_same(type_: type, name: str) -> None:
    with pytest.raises(RuleError) as caught:
        decode(json.dumps({"x": 1, name: "int8"}).encode(), type_, ignore_unknown=True)
    assert (caught.value.code, caught.value.param) == ("unknown_field", name)
    decode(json.dumps({"x": 1, name: None}).encode(), type_, ignore_unknown=True)


def test_the_names_of_a_route_itself_are_its_own() -> None:
    raw = b'{"texts":["a"],"output_dimension":64,"embedding_types":["int8"]}'
    assert decode(raw, EmbedRequest, ignore_unknown=True).output_dimension == 64
