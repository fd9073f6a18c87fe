"""A wrong value or an unknown field is refused with its path and what is allowed; clients' texts are not repeated."""

import json
from typing import Any

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.image_embeds import ImageEmbedsRequest
from schemas.parsing.decode import decode
from tests.schemas.parsing.refused import TEXT, refused, with_content

INT = "expected an integer from 1 to 2147483647, got"
ROLES = "expected one of assistant, system, user, got"
PARTS = "text, image_url, image_embeds, video_frames, video_url, input_audio, audio_url, file"
USER = {"role": "user", "content": "a"}


@pytest.mark.parametrize(
    ("body", "param", "said"),
    [
        ({"model": 1}, "model", "expected a string, got an integer"),
        ({"messages": [{"role": None, "content": "a"}]}, "messages[0].role", f"{ROLES} null"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages[0].role", f"{ROLES} 'tool'"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "required, got nothing"),
        ({"dimensions": "64"}, "dimensions", f"{INT} a string"),
        ({"dimensions": 0}, "dimensions", f"{INT} a smaller one"),
        ({"dimensions": 2**31}, "dimensions", f"{INT} a larger one"),
        ({"dimensions": 1.5}, "dimensions", f"{INT} a number"),
        ({"dimensions": True}, "dimensions", f"{INT} a boolean"),
        ({"truncate_prompt_tokens": -2}, "truncate_prompt_tokens",
         "expected an integer from -1 to 2147483647, got a smaller one"),
        ({"encoding_format": "bytes"}, "encoding_format", "expected one of base64, float, got 'bytes'"),
        ({"stream": 1}, "stream", "expected true or false, got an integer"),
        ({"messages": "a"}, "messages", "expected an array, got a string"),
        ({"messages": [3]}, "messages[0]", "expected an object or an array, got an integer"),
        ({"messages": [{"role": "user", "content": [TEXT, {"type": "image_url", "image_url": 7}]}]},
         "messages[0].content[1].image_url", "expected an object or a string, got an integer"),
        ({"input": 3}, "input", "expected a string or an array of strings, got an integer"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_path_and_what_is_allowed(body: object, param: str, said: str) -> None:
    error = refused(body)
    assert (error.code, error.param, error.index) == ("invalid_request", param, None)
    assert error.message == f"`{param}`: {said}"


@pytest.mark.parametrize(
    ("body", "param", "index", "said"),
    [
        (with_content([{"type": "image", "image": "x"}]), "inputs[1].content[0].type", 1,
         f"expected one of {PARTS}, got 'image'; did you mean `image_url`?"),
        (with_content([{"text": "a"}]), "inputs[1].content[0].type", 1, "required, got nothing"),
        (with_content(None), "inputs[1].content", 1, "expected a string or an array, got null"),
        ({"input": ["a", {"contents": "a"}]}, "input[1]", 1,
         "expected a string, got an object; items with images go into `inputs`"),
        ({"input": [["a"]]}, "input[0]", 0, "expected a string, got an array"),
        ({"messages": [[USER], [{"role": "user", "content": 3}]]}, "messages[1][0].content", 1,
         "expected a string or an array, got an integer"),
    ],
)  # fmt: skip
def test_a_wrong_item_is_refused_with_its_index(body: object, param: str, index: int, said: str) -> None:
    error = refused(body)
    assert (error.code, error.param, error.index) == ("invalid_request", param, index)
    assert error.message == f"`{param}`: {said}"


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"model": "m", "dimension": 3}, "dimension", "did you mean `dimensions`?"),
        ({"model": "m", "zzzz": 3}, "zzzz", "known here: model, input, messages"),
        (with_content([{"type": "text", "txt": "a"}]), "inputs[1].content[0].txt", "did you mean `text`?"),
        (
            with_content([{"type": "image_url", "url": "a"}]),
            "inputs[1].content[0].url",
            "known here: type, text, image_url",
        ),
        ({"model": "m", "x` - at `$.model`": 1}, "…", "known here"),
        ({"model": "m", "x` - at `$.<script>": 1}, "…", "known here"),
        ({"model": "m", "x" * 1000: 1}, "…", "known here"),
        (with_content([{"type": "text", "x" * 5_000_000: 1}]), "inputs[1].content[0].…", "known here: type"),
        ({"model": "m", "a\nb": 1}, "…", "known here"),
    ],
)
def test_an_unknown_field_is_refused_by_name_with_the_nearest_known_one(body: object, param: str, words: str) -> None:
    error = refused(body)
    assert (error.code, error.param) == ("unknown_field", param)
    assert error.message.startswith(f"`{param}`: unknown field; ")
    assert words in error.message


@pytest.mark.parametrize(
    "secret",
    [
        "q` - at `$.model",
        "'; DROP",
        "my secret",
        "https://u:p@h/",
        "sk-proj-abc123",
        "cen_abc",
        "x" * 65,
        "",
        "\u202ea",
        "é",
    ],
)
@pytest.mark.parametrize("field", ["encoding_format", "truncation_side", "dimensions", "add_special_tokens"])
def test_no_text_url_or_key_of_the_client_is_repeated(field: str, secret: str) -> None:
    error = refused({"model": "m", "input": "a", field: secret})
    assert not secret or secret not in error.message
    assert error.param == field
    assert error.message.endswith(("got another value", "got a string"))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("encoding_format", "base46", "got 'base46'; did you mean `base64`?"),
        ("encoding_format", "FLOAT", "got 'FLOAT'; did you mean `float`?"),
        ("encoding_format", "hex", "got 'hex'"),
    ],
)
def test_a_short_name_among_few_is_repeated_with_the_nearest(field: str, value: str, words: str) -> None:
    assert refused({"model": "m", "input": "a", field: value}).message.endswith(words)


def with_uuid(uuid: object) -> dict:
    return with_content([TEXT, {"type": "image_url", "uuid": uuid}])


@pytest.mark.parametrize("uuid", ["", "a b", "a\n", "\na", "a/b", "\u00e4", "a" * 129])
def test_a_uuid_of_other_signs_is_refused_with_those_allowed(uuid: str) -> None:
    error = refused(with_uuid(uuid))
    assert (error.code, error.param, error.index) == ("invalid_request", "inputs[1].content[1].uuid", 1)
    assert "a string of 1 to 128 letters, digits and the signs . _ : -, got another value" in error.message


@pytest.mark.parametrize("uuid", ["a", "SKU:12.3_front-2", "a" * 128, None])
def test_a_uuid_of_the_allowed_signs_is_taken(uuid: str | None) -> None:
    (part,) = decode(json.dumps(with_uuid(uuid)).encode(), EmbeddingRequest).inputs[1].content[1:]
    assert part.uuid == uuid


@pytest.mark.parametrize("kind", [{}, {"type": "image_embeds"}, {"type": None}])
def test_an_image_of_image_embeds_has_the_type_of_one(kind: dict[str, Any]) -> None:
    error = refused({"images": [kind | {"image_url": {"url": "data:image/png;base64,AAAA"}}]}, ImageEmbedsRequest)
    assert "type" in error.message
    assert str(error.param).startswith("images[0]")
