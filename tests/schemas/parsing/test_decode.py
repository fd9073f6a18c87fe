"""Every way a body can be wrong by itself is refused with its code, its path and words of ours."""

import json

import msgspec
import pytest

from schemas.endpoints.embed import EMBED_IGNORED_FIELDS, EmbedRequest
from schemas.endpoints.embeddings import IGNORED_FIELDS, EmbeddingRequest
from schemas.endpoints.tokenize import TokenizeRequest
from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT, MAX_TOKEN_IDS
from schemas.parsing.decode import decode
from schemas.parsing.rule_error import RuleError

TEXT = {"type": "text", "text": "a"}


def refusal(raw: bytes, type_=EmbeddingRequest, **options) -> RuleError:
    with pytest.raises(RuleError) as caught:
        decode(raw, type_, **options)
    return caught.value


def refused(body: object, type_=EmbeddingRequest) -> RuleError:
    return refusal(json.dumps(body).encode(), type_)


def with_content(content: object) -> dict:
    return {"model": "m", "inputs": [{"content": "a"}, {"content": content}]}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "got nothing"),
        (b" \n", "got white space alone"),
        (b'\xef\xbb\xbf{"model": "a"}', "begins with a byte order mark"),
        (b'{"model": "a"', "incomplete at byte 13"),
        (b'{"model":"a",}', "malformed at byte 13"),
        (b'{"model":"a"} x', "malformed at byte 15"),
        (b'{"model":"a","timeout":NaN}', "malformed at byte 23"),
        (b'{"model":"\xff",', "not UTF-8"),
        ('{"model":"a"}'.encode("utf-16"), "begins with a byte order mark of UTF-16"),
        (b'{"model":"\\ud800",', "incomplete"),
        (b'{"inputs":[{"content":[{"text":' + b"[" * 100_000 + b',"type":"text"}]}]}', "nested too deeply"),
    ],
)
def test_text_that_is_not_json_is_refused_with_its_place(raw: bytes, words: str) -> None:
    error = refusal(raw)
    assert (error.code, error.param, error.index) == ("invalid_json", None, None)
    assert words in error.message


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


@pytest.mark.parametrize("raw", [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"inputs":' + b"[" * 1_000_000])
@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_a_nested_bomb_is_an_ordinary_refusal(raw: bytes, ignore_unknown: bool) -> None:
    error = refusal(raw, ignore_unknown=ignore_unknown)
    assert error.code in ("invalid_json", "invalid_request", "unknown_field")


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ([], None, "the body: expected an object, got an array"),
        ({"model": 1}, "model", "`model`: expected a string, got an integer"),
        (
            {"messages": [{"role": None, "content": "a"}]},
            "messages[0].role",
            "`messages[0].role`: expected one of assistant, system, user, got null",
        ),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "`messages[0].content`: required, got nothing"),
        (
            {"model": "m", "dimensions": "64"},
            "dimensions",
            "`dimensions`: expected an integer from 1 to 2147483647, got a string",
        ),
        (
            {"model": "m", "dimensions": 0},
            "dimensions",
            "`dimensions`: expected an integer from 1 to 2147483647, got a smaller one",
        ),
        (
            {"model": "m", "dimensions": 2**31},
            "dimensions",
            "`dimensions`: expected an integer from 1 to 2147483647, got a larger one",
        ),
        (
            {"model": "m", "dimensions": 1.5},
            "dimensions",
            "`dimensions`: expected an integer from 1 to 2147483647, got a number",
        ),
        (
            {"model": "m", "dimensions": True},
            "dimensions",
            "`dimensions`: expected an integer from 1 to 2147483647, got a boolean",
        ),
        (
            {"model": "m", "truncate_prompt_tokens": -2},
            "truncate_prompt_tokens",
            "`truncate_prompt_tokens`: expected an integer from -1 to 2147483647, got a smaller one",
        ),
        (
            {"model": "m", "encoding_format": "bytes"},
            "encoding_format",
            "`encoding_format`: expected one of base64, float, got 'bytes'",
        ),
        ({"model": "m", "stream": 1}, "stream", "`stream`: expected true or false, got an integer"),
        ({"model": "m", "messages": "a"}, "messages", "`messages`: expected an array, got a string"),
        (
            {"model": "m", "messages": [3]},
            "messages[0]",
            "`messages[0]`: expected an object or an array, got an integer",
        ),
        (
            {"model": "m", "messages": [{"role": "tool", "content": "a"}]},
            "messages[0].role",
            "`messages[0].role`: expected one of assistant, system, user, got 'tool'",
        ),
        (
            {"model": "m", "messages": [{"role": "user", "content": [TEXT, {"type": "image_url", "image_url": 7}]}]},
            "messages[0].content[1].image_url",
            "`messages[0].content[1].image_url`: expected an object or a string, got an integer",
        ),
        ({"model": "m", "input": 3}, "input", "`input`: expected a string or an array of strings, got an integer"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path_and_what_is_allowed(
    body: object, param: str | None, message: str
) -> None:
    error = refused(body)
    assert (error.code, error.param, error.index, error.message) == ("invalid_request", param, None, message)


@pytest.mark.parametrize(
    ("body", "param", "index", "message"),
    [
        (
            with_content([{"type": "image", "image": "x"}]),
            "inputs[1].content[0].type",
            1,
            (
                "`inputs[1].content[0].type`: expected one of text, image_url, image_embeds, video_frames, video_url, "
                "input_audio, audio_url, got 'image'; did you mean `image_url`?"
            ),
        ),
        (
            with_content([{"text": "a"}]),
            "inputs[1].content[0].type",
            1,
            "`inputs[1].content[0].type`: required, got nothing",
        ),
        (with_content(None), "inputs[1].content", 1, "`inputs[1].content`: expected a string or an array, got null"),
        (
            {"model": "m", "input": ["a", {"content": "a"}]},
            "input[1]",
            1,
            "`input[1]`: expected a string, got an object; items with images go into `inputs`",
        ),
        ({"model": "m", "input": [["a"]]}, "input[0]", 0, "`input[0]`: expected a string, got an array"),
        (
            {"model": "m", "messages": [[{"role": "user", "content": "a"}], [{"role": "user", "content": 3}]]},
            "messages[1][0].content",
            1,
            "`messages[1][0].content`: expected a string or an array, got an integer",
        ),
    ],
)
def test_a_wrong_item_is_refused_with_its_index(body: object, param: str, index: int, message: str) -> None:
    error = refused(body)
    assert (error.code, error.param, error.index, error.message) == ("invalid_request", param, index, message)


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


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("embedding_types", []),
        ("embedding_types", ["float64"]),
        ("truncate", "end"),
        ("max_tokens", 0),
        ("output_dimension", 0),
        ("priority", 1000),
        ("priority", -1),
        ("input_type", 3),
        ("images", [{"url": "x"}]),
    ],
)
def test_a_wrong_cohere_value_is_refused(field: str, value: object) -> None:
    error = refused({"model": "m", "texts": ["a"], field: value}, EmbedRequest)
    assert error.code == "invalid_request"
    assert error.param.startswith(field)


@pytest.mark.parametrize("type_", [EmbeddingRequest, EmbedRequest, TokenizeRequest])
def test_null_means_absent_for_every_optional_field(type_: type[msgspec.Struct]) -> None:
    optional = {f.encode_name: None for f in msgspec.structs.fields(type_) if not f.required}
    assert len(optional) >= 10
    assert decode(json.dumps(optional).encode(), type_) == type_()


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


def with_uuid(uuid: object) -> dict:
    return with_content([TEXT, {"type": "image_url", "uuid": uuid}])


def test_a_part_whose_type_is_written_twice_is_that_part() -> None:
    """Rust's generated clients write the union's tag and the variant's own field."""
    raw = b'{"inputs": [{"content": [{"type": "text", "type": "text", "text": "x"}]}]}'
    assert decode(raw, EmbeddingRequest) == decode(raw.replace(b'"type": "text", ', b"", 1), EmbeddingRequest)


@pytest.mark.parametrize("uuid", ["", "a b", "a\n", "\na", "a/b", "\u00e4", "a" * 129])
def test_a_name_of_other_signs_is_refused_and_told_which_are_allowed(uuid: str) -> None:
    error = refused(with_uuid(uuid))
    assert (error.code, error.param, error.index) == ("invalid_request", "inputs[1].content[1].uuid", 1)
    assert "a string of 1 to 128 letters, digits and the signs . _ : -, got another value" in error.message


@pytest.mark.parametrize("uuid", ["a", "SKU:12.3_front-2", "a" * 128, None])
def test_a_name_of_the_allowed_signs_is_taken(uuid: str | None) -> None:
    (part,) = decode(json.dumps(with_uuid(uuid)).encode(), EmbeddingRequest).inputs[1].content[1:]
    assert part.uuid == uuid


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
def test_what_else_is_wrong_beside_a_null_is_told(body: dict, code: str, param: str, words: str) -> None:
    error = refused(body)
    assert (error.code, error.param) == (code, param)
    assert words in error.message


def test_a_body_of_very_many_members_is_not_looked_into_again() -> None:
    error = refused({"x": None, "input": ["a"] * 300_000})
    assert (error.code, error.param) == ("unknown_field", "x")
