"""Texts that are none are named by their field, bombs are refused; what is right is read alike on all routes."""

import json

import pytest

from schemas.endpoints.embed import EMBED_IGNORED_FIELDS, EmbedRequest
from schemas.endpoints.embeddings import IGNORED_FIELDS, EmbeddingRequest
from schemas.parsing.decode import decode
from tests.schemas.parsing.refused import TEXT, refusal


@pytest.mark.parametrize(
    ("raw", "code", "param", "words"),
    [
        (b'{"model":"\xff"}', "invalid_json", "model", "UTF-8"),
        (b'{"model":"\\ud800"}', "invalid_request", "model", "half of a character (\\ud800"),
        (b'"\\ud800"', "invalid_request", None, "the body: "),
        (b'{"\\ud800":1}', "invalid_request", "…", "half"),
        (b'["\\ud800"]', "invalid_request", None, "expected an object"),
        (b'{"input":["\\ud800"],"on_error":"per_item","dimensions":"a"}', "invalid_request", "dimensions", "integer"),
        (b'{"input":["\\ud800"],"on_error":"per_item","x":1,"y":null}', "unknown_field", "x", "unknown"),
    ],
)
def test_a_text_that_is_none_is_named_by_its_field(raw: bytes, code: str, param: str | None, words: str) -> None:
    error = refusal(raw)
    assert (error.code, error.param) == (code, param)
    assert words in error.message


def test_a_large_body_is_not_read_again() -> None:
    for rest in (b"a" * (1 << 23), b'","' * (1 << 17)):
        error = refusal(b'{"input":["\\ud800","%b"]}' % rest)
        assert (error.code, error.param) == ("invalid_json", None)


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' * 20_000, b'{"inputs":' + b"[" * 100_000])
@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_a_nested_bomb_is_an_ordinary_refusal(raw: bytes, ignore_unknown: bool) -> None:
    error = refusal(raw, ignore_unknown=ignore_unknown)
    assert error.code in ("invalid_json", "invalid_request", "unknown_field")


def test_the_fields_that_real_clients_send_are_ignored() -> None:
    sent = {"user": "u", "timeout": 600, "stream": False}
    assert set(sent) == set(IGNORED_FIELDS)
    assert decode(json.dumps({"model": "m", "input": "a", **sent}).encode(), EmbeddingRequest).input == "a"
    assert EMBED_IGNORED_FIELDS == ("priority",)
    assert decode(b'{"model":"m","texts":["a"],"priority":999}', EmbedRequest).texts == ["a"]


def test_both_routes_read_the_same_content() -> None:
    items = [{"content": [TEXT, {"type": "image_url", "image_url": {"url": "x", "detail": "low"}}]}, {"content": "b"}]
    raw = json.dumps({"model": "m", "inputs": items}).encode()
    assert decode(raw, EmbeddingRequest).inputs == decode(raw, EmbedRequest).inputs


def test_a_part_whose_type_is_written_twice_is_that_part() -> None:
    """Rust's generated clients write the union's tag and the variant's own field."""
    raw = b'{"inputs": [{"content": [{"type": "text", "type": "text", "text": "x"}]}]}'
    assert decode(raw, EmbeddingRequest) == decode(raw.replace(b'"type": "text", ', b"", 1), EmbeddingRequest)
