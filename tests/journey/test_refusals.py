"""Everything that a client can say wrongly has its own answer: status, code, place, and a sentence that helps.

Nothing here is ever our fault: no 5xx, and the request after it is answered as ever.
"""

import gzip
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from schemas.limits import MAX_TOKEN_IDS
from tests.conftest import LiveServer, image, image_part, text_part
from tests.journey.conftest import GOOD, JSON, V1, V2, Refusal, assert_refused, v1, v2

pytestmark = pytest.mark.usefixtures("no_server_fault")
FINE = {"content": "fine"}
TURN, SYSTEM = {"role": "user", **FINE}, {"role": "system", "content": "Find it."}
BROKEN = {"content": [text_part("see"), image_part("data:image/png;base64,aGVsbG8gd29ybGQ=")]}
LONG = "long " * 9000
MAX_BODY_BYTES = 32 << 20


def at_url(url: str) -> dict[str, Any]:
    return {"inputs": [FINE, {"content": [image_part(url)]}]}


IMAGE_URL = "inputs[1].content[0].image_url"

FIELDS = (
    v1("unknown field", GOOD | {"dimension": 64}, 400, "unknown_field", "dimension", words="did you mean|`dimensions`"),
    v1(
        "unknown field deep inside",
        {"inputs": [FINE, {"content": [{"type": "text", "text": "x", "weight": 2}]}]},
        400, "unknown_field", "inputs[1].content[0].weight", 1, words="known here|text",
    ),
    v1("wrong type", GOOD | {"dimensions": "64"}, 400, "invalid_request", "dimensions", words="an integer|a string"),
    v1(
        "wrong type with its path",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
        400, "invalid_request", "messages[0].content[0].text", words="a string|an integer",
    ),
    v1("wrong type in a list", {"input": ["x", None]}, 400, "invalid_request", "input[1]", 1, words="a string|null"),
    v1(
        "unknown part type", {"inputs": [{"content": [{"type": "audio", "audio": "x"}]}]},
        400, "invalid_request", "inputs[0].content[0].type", 0, words="text|image_url|got 'audio'",
    ),
    v1(
        "part type of other servers", {"inputs": [{"content": [{"type": "image", "image": "x"}]}]},
        400, "invalid_request", "inputs[0].content[0].type", 0, words="got 'image'; did you mean `image_url`?",
    ),
    v1("text among names", GOOD | {"encoding_format": "my secret is"}, 400, "invalid_request", "encoding_format",
       words="got another value"),
    v1("dtype of torch", GOOD | {"embed_dtype": "half"}, 400, "invalid_request", "embed_dtype",
       words="float16|bfloat16"),
    v1("endianness", GOOD | {"endianness": "middle"}, 400, "invalid_request", "endianness", words="native|little|big"),
    v2("normalize", {"texts": ["x"], "normalize": False}, 400, "unknown_field", "normalize"),
    v2("dtype", {"texts": ["x"], "embed_dtype": "float16"}, 400, "unknown_field", "embed_dtype"),
    v1("bad choice", GOOD | {"encoding_format": "hex"}, 400, "invalid_request", "encoding_format",
       words="base64|got 'hex'"),
    v1("streaming", GOOD | {"stream": True}, 400, "invalid_request", "stream",
       words="false|true|/v1/embeddings/stream"),
    v1("body that is no object", b"[1, 2]", 400, "invalid_request", words="an object|an array"),
    v2("unknown field", {"texts": ["x"], "truncation": "END"}, 400, "unknown_field", "truncation", words="`truncate`"),
    v2("bad choice", {"texts": ["x"], "truncate": "end"}, 400, "invalid_request", "truncate",
       words="NONE|START|END|got 'end'; did you mean `END`?"),
    v2(
        "unknown embedding type", {"texts": ["x"], "embedding_types": ["float", "fp8"]},
        400, "invalid_request", "embedding_types[1]", words="float|int8|base64|got 'fp8'",
    ),
    v2("an image that is an object", {"images": [{"url": "x"}]}, 400, "invalid_request", "images[0]", 0),
    v2(
        "unknown input type", {"texts": ["x"], "input_type": "queries"},
        400, "invalid_request", "input_type", words="search_query|search_document",
    ),
)  # fmt: skip

INPUTS = (
    v1("no input", {"model": "builtin"}, 400, "missing_input", "input", words="`input`|`messages`|`inputs`|none"),
    v1("null input", {"input": None}, 400, "missing_input", "input"),
    v1("two inputs", GOOD | {"inputs": [FINE]}, 400, "conflicting_input", "inputs", words="`input` and `inputs`"),
    v1("empty list", {"input": []}, 400, "empty_input", "input", words="at least 1"),
    v1("item with nothing in it", {"inputs": [FINE, {"content": []}]}, 400, "empty_input", "inputs[1].content", 1),
    v1("item without content", {"inputs": [FINE, {}]}, 400, "invalid_request", "inputs[1].content", 1, words="nothing"),
    v1("conversation with nothing in it", {"messages": [[]]}, 400, "empty_input", "messages[0]", 0),
    v1("too many inputs", {"input": ["x"] * 2049}, 400, "too_many_inputs", "input", words="2048"),
    v1("more texts than a prompt may have ids", {"input": ["x"] * (MAX_TOKEN_IDS + 1)}, 400, "too_many_inputs",
       "input"),
    v1("too many items", {"inputs": [FINE] * 2049}, 400, "too_many_inputs", "inputs"),
    v1("too many conversations", {"messages": [[TURN]] * 2049}, 400, "too_many_inputs", "messages"),
    *(v2(f"too many {name}", {name: [one] * 2049}, 400, "too_many_inputs", name)
      for name, one in {"texts": "x", "images": "x", "inputs": FINE}.items()),
    v1("token ids", {"input": [1, 2, 3]}, 400, "token_arrays_not_accepted", "input", words="check_embedding_ctx"),
    v1("a number among texts", {"input": ["x", 5]}, 400, "token_arrays_not_accepted", "input[1]", 1,
       words="a string|an integer"),
    v1("token ids among texts", {"input": ["x", "y", [5]]}, 400, "token_arrays_not_accepted", "input[2]", 2),
    v1("lists of token ids", {"input": [[1], [2]]}, 400, "token_arrays_not_accepted", "input"),
    v1("a list without a token id", {"input": [[]]}, 400, "token_arrays_not_accepted", "input"),
    v1("a text and a conversation", GOOD | {"messages": [TURN]}, 400, "conflicting_input", "messages"),
    v1("a conversation and items", {"messages": [TURN], "inputs": [FINE]}, 400, "conflicting_input", "inputs"),
    v1("a conversation among messages", {"messages": [TURN, [TURN]]}, 400, "invalid_request", "messages[1]"),
    v1("a message among conversations", {"messages": [[TURN], TURN]}, 400, "invalid_request", "messages[1]"),
    v1("a system message alone", {"messages": [SYSTEM]}, 400, "empty_input", "messages"),
    v1("one alone in a conversation", {"messages": [[TURN], [SYSTEM]]}, 400, "empty_input", "messages[1]", 1),
    v1("a system message at the end", {"messages": [TURN, SYSTEM]}, 400, "invalid_request", "messages[1].role"),
    v1("two system messages", {"messages": [[TURN], [SYSTEM, SYSTEM, TURN]]}, 400, "invalid_request",
       "messages[1][1].role", 1),
    v1("an open turn and its answer",
       {"messages": [TURN], "add_generation_prompt": True, "continue_final_message": True}, 400, "invalid_request",
       "continue_final_message"),
    v1("an open text", GOOD | {"continue_final_message": True}, 400, "invalid_request", "continue_final_message"),
    v1("an open turn with an image",
       {"messages": [[TURN], [TURN, {"role": "user", "content": [image_part("x")]}]], "continue_final_message": True},
       400, "invalid_request", "messages[1][1].content", 1),
    v1(
        "two instructions",
        {"instruction": "a", "messages": [{"role": "system", "content": "b"}, {"role": "user", "content": "c"}]},
        400, "conflicting_input", "instruction",
    ),
    v1("image in a system message",
       {"messages": [{"role": "system", "content": [image_part(image(1))]}, TURN]},
       400, "invalid_request", "messages[0].content", 0, words="got `image_url`|expected text only"),
    v2("no input", {"input_type": "image"}, 400, "missing_input", "texts", words="`texts`|`images`|`inputs`"),
    v2("two inputs", {"texts": ["x"], "images": [image(1)]}, 400, "conflicting_input", "images"),
    v2("images and items", {"images": [image(1)], "inputs": [FINE]}, 400, "conflicting_input", "inputs"),
    Refusal("npy of bfloat16", "/v1/image_embeds",
            {"images": [image_part(image(1))], "features_format": "npy", "embed_dtype": "bfloat16"},
            400, "invalid_request", "embed_dtype", words=("npy files have no bfloat16",)),
)  # fmt: skip

MEDIA = (
    v1("broken image in a batch of good ones", {"inputs": [FINE, FINE, BROKEN, FINE]},
       422, "media_undecodable", "inputs[2].content[1].image_url", 2),
    v1("image cut short", at_url(image(3)[:-60]), 422, "media_undecodable", IMAGE_URL, 1),
    v1("bad base64", at_url("data:image/png;base64,@@@@"), 422, "media_undecodable", IMAGE_URL, 1, words="base64"),
    v1("http", at_url("http://127.0.0.1:1/a.png"), 400, "media_source_refused", IMAGE_URL, 1, words="http|data URI"),
    v1("https URL", at_url("https://example.com/a.png"), 400, "media_source_refused", IMAGE_URL, 1, words="data URI"),
    v1("file URL", at_url("file:///etc/passwd"), 400, "media_source_refused", IMAGE_URL, 1, words="file:"),
    v1("path", at_url("/etc/passwd"), 400, "media_source_refused", IMAGE_URL, 1, words="path"),
    v1("broken image in a batch of conversations",
       {"messages": [[TURN], [{"role": "user", **BROKEN}]]},
       422, "media_undecodable", "messages[1][0].content[1].image_url", 1),
    v2("broken image in a batch of good ones", {"images": [image(1), image(2), "data:image/png;base64,AAAA"]},
       422, "media_undecodable", "images[2]", 2),
    v2("http URL", {"images": ["http://127.0.0.1:1/a.png"]}, 400, "media_source_refused", "images[0]", 0),
)  # fmt: skip

LIMITS = (
    v1("too long", {"input": ["x", LONG]}, 400, "context_length_exceeded", "input[1]", 1,
       words="8192|input tokens|`truncate_prompt_tokens: -1`"),
    v1("too long truncation", GOOD | {"truncate_prompt_tokens": 9000}, 400, "invalid_request", "truncate_prompt_tokens",
       words="9000|8192"),
    v1("truncation below the template", GOOD | {"truncate_prompt_tokens": 3}, 400, "context_length_exceeded", "input",
       0, words="instruction and other turns take 24 tokens|set `truncate_prompt_tokens` above 24"),
    v2("truncation below the template", {"texts": ["x"], "max_tokens": 3}, 400, "context_length_exceeded", "texts[0]",
       0, words="is 3 tokens|take 24 tokens|set `max_tokens` above 24"),
    v2("a limit below the template", {"texts": ["x"], "max_tokens": 3, "truncate": "NONE"}, 400,
       "context_length_exceeded", "texts[0]", 0, words="take 24 tokens|set `max_tokens` above 24"),
    v1("too many dimensions", GOOD | {"dimensions": 4096}, 400, "invalid_dimensions", "dimensions", words="4096|128"),
    v1("unknown model", GOOD | {"model": "gpt-5"}, 404, "model_not_found", "model", words="served: builtin|'gpt-5'"),
    v1("a URL as model", GOOD | {"model": "https://secret.example/a"}, 404, "model_not_found", "model",
       words="got a name"),
    v2("too long", {"texts": ["x", LONG], "truncate": "NONE"}, 400, "context_length_exceeded", "texts[1]", 1,
       words="8192|`truncate: END`"),
    v2("too many dimensions", {"texts": ["x"], "output_dimension": 300}, 400, "invalid_dimensions", "output_dimension",
       words="300|128"),
    v2("odd bits", {"texts": ["x"], "output_dimension": 100, "embedding_types": ["binary"]}, 400, "invalid_dimensions",
       "output_dimension", words="multiple of 8"),
)  # fmt: skip

OLDER = tuple(
    Refusal(f"/v1/embed {code}", "/v1/embed", body, 400, code, param, words=words)
    for body, code, param, *words in (
        ({}, "missing_input", "texts", "exactly one of `texts`, `images`, got none"),
        ({"texts": ["x"], "images": [image(1)]}, "conflicting_input", "images", "`texts` and `images`"),
        ({"inputs": [FINE]}, "unknown_field", "inputs"),
        ({"texts": ["x"], "input_type": "nothing"}, "invalid_request", "input_type", "search_document"),
    )
)

BYTES = (
    v1("empty body", b"", 400, "invalid_json", words="JSON|got nothing"),
    v1("white space", b" \n", 400, "invalid_json", words="got white space alone"),
    v1("byte order mark", b'\xef\xbb\xbf{"input": "x"}', 400, "invalid_json", words="begins with a byte order mark"),
    v1("UTF-16", '{"input":"x"}'.encode("utf-16"), 400, "invalid_json", words="byte order mark of UTF-16"),
    v1("incomplete JSON", b'{"input": "x"', 400, "invalid_json", words="incomplete at byte 13"),
    v1("a comma at the end", b'{"input":"x",}', 400, "invalid_json", words="malformed at byte 13"),
    v1("text after JSON", b'{"input": "x"} x', 400, "invalid_json", words="malformed at byte 16"),
    v1("not a number", b'{"input": "x", "timeout": NaN}', 400, "invalid_json", words="malformed at byte 26"),
    v1("no UTF-8, and no end", b'{"model":"\xff",', 400, "invalid_json", words="not UTF-8"),
    v1("half a character, and no end", b'{"model":"\\ud800",', 400, "invalid_json", words="incomplete"),
    v1("infinity", b'{"input": "x", "timeout": Infinity}', 400, "invalid_json"),
    v1("deep nesting", b'{"input":' + b"[" * 100_000, 400, "invalid_request", "input[0]", 0, words="a string|an array"),
    v1("deep nesting in an unknown field", b'{"x":' + b"[" * 100_000, 400, "unknown_field", "x"),
    v1("deep objects", b'{"inputs":' + b'[{"content":' * 50_000, 400, "invalid_json", words="nested too deeply"),
    v1(
        "deep nesting in a part",
        b'{"inputs":[{"content":[{"text":' + b"[" * 100_000 + b',"type":"text"}]}]}',
        400,
        "invalid_json",
        words="nested too deeply",
    ),
    v2("empty body", b"", 400, "invalid_json"),
    v2("invalid UTF-8", b'{"texts": ["\xff"]}', 400, "invalid_json", "texts[0]", 0, words="UTF-8"),
    v2("deep nesting", b'{"texts":' + b"[" * 100_000, 400, "invalid_request", "texts[0]", 0),
)

TRANSPORT = (
    Refusal("no content type of a page", V1, GOOD, 415, "unsupported_media_type", words=("nothing",),
            headers={"origin": "http://127.0.0.1:9"}),
    Refusal("form", V2, b"texts=x", 415, "unsupported_media_type",
            headers={"content-type": "application/x-www-form-urlencoded"}),
    Refusal("compressed", V1, gzip.compress(b'{"input":"x"}'), 415, "unsupported_media_type", words=("gzip",),
            headers=JSON | {"content-encoding": "gzip"}),
    Refusal("another charset", V1, GOOD, 415, "unsupported_media_type", words=("charset", "utf-8"),
            headers={"content-type": "application/json; charset=latin-1"}),
    Refusal("another charset of Cohere's", V2, GOOD, 415, "unsupported_media_type", words=("utf-8",),
            headers={"content-type": 'application/json;Charset="UTF-16"'}),
    Refusal("oversize body", V1, b'{"input":"' + b"x" * MAX_BODY_BYTES + b'"}', 413, "body_too_large",
            words=(str(MAX_BODY_BYTES),)),
    Refusal("oversize body of Cohere's", V2, b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
    Refusal("oversize body of Cohere's v1", "/v1/embed", b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
    Refusal("oversize body of tokens", "/tokenize", b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
)  # fmt: skip

ALL = (*FIELDS, *INPUTS, *MEDIA, *LIMITS, *OLDER, *BYTES, *TRANSPORT)


@pytest.mark.parametrize("refusal", ALL, ids=lambda refusal: refusal.name)
def test_it_is_refused_clearly_and_the_next_request_works(server: LiveServer, refusal: Refusal) -> None:
    answer = server.http.post(refusal.path, content=refusal.raw, headers=refusal.headers)
    assert_refused(answer, refusal)
    assert server.http.post(V1, json=GOOD).status_code == 200


def test_good_items_beside_a_broken_one_are_answered_when_asked_again_without_it(server: LiveServer) -> None:
    items = [{"content": [image_part(image(40 + i))]} for i in range(3)]
    assert server.http.post(V1, json={"inputs": [*items, BROKEN]}).status_code == 422
    assert server.vectors({"inputs": items}).shape == (3, 128)


def test_a_lenient_server_takes_unknown_fields_at_every_depth(bare_server: LiveServer, server: LiveServer) -> None:
    plain, url = [image_part(image(41)), text_part("x")], {"url": image(41), "weight": 1}
    loose = [{"weight": 1, "type": "image_url", "image_url": url}, {"cache": [], "type": "text", "text": "x"}]
    for body, same in (
        ({"inputs": [{"content": loose, "id": 7}], "weight": [[[{}]]]}, {"inputs": [{"content": plain}]}),
        ({"messages": [[{"role": "user", "name": "n", "content": loose}]]}, {"inputs": [{"content": plain}]}),
        ({"input": "x", "weight": [[{}]]}, {"input": "x"}),
    ):
        assert server.http.post(V1, json=body).json()["error"]["code"] == "unknown_field"
        np.testing.assert_array_equal(bare_server.vectors(body), bare_server.vectors(same))
    asked = {"embedding_types": ["int8"], "output_dimension": 64}  # names of this route's own
    first, second = (
        bare_server.ask(V2, asked | more | {"inputs": [{"content": content}]}).json()["embeddings"]
        for content, more in ((loose, {"weight": {}}), (plain, {}))
    )
    assert first == second


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"input": "x", "dimensions": "64"}, "invalid_request", "dimensions"),
        ({"input": []}, "empty_input", "input"),
        ({"messages": [{"role": "user"}]}, "invalid_request", "messages[0].content"),
    ],
)
def test_a_lenient_server_checks_what_it_knows(
    bare_server: LiveServer, body: dict[str, Any], code: str, param: str
) -> None:
    error = bare_server.http.post(V1, json=body | {"unknown": 1}).json()["error"]
    assert (error["code"], error["param"]) == (code, param)


def test_an_unknown_model_card_is_not_found(server: LiveServer) -> None:
    answer = server.http.get("/v1/models/Qwen/Qwen3-VL-Embedding-2B")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
    assert "builtin" in answer.json()["error"]["message"]


def test_an_empty_text_is_embedded(server: LiveServer) -> None:
    assert server.vectors({"input": ["", "x"]}).shape == (2, 128)


@pytest.mark.parametrize("path", [V1, V2])
def test_an_oversize_body_without_a_declared_length_is_refused_too(server: LiveServer, path: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(MAX_BODY_BYTES // (1 << 20) + 2):
            yield b" " * (1 << 20)

    answer = server.http.post(path, content=chunks(), headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert server.http.post(V1, json=GOOD).status_code == 200


@pytest.mark.parametrize("kind", ["application/json;charset=UTF-8", 'Application/JSON; Charset="utf8"; x=1'])
def test_utf_8_may_be_said(server: LiveServer, kind: str) -> None:
    answer = server.http.post(V1, content=b'{"input": "\xc3\xa4"}', headers={"content-type": kind})
    assert answer.status_code == 200, answer.text


def test_a_good_request_id_is_echoed_and_a_bad_one_is_replaced(server: LiveServer) -> None:
    assert server.http.post(V1, json={}, headers={"x-request-id": "Mine-1.2_3"}).headers["x-request-id"] == "Mine-1.2_3"
    for bad in ("has space", "x" * 129, "semi;colon"):
        echoed = server.http.post(V1, json={}, headers={"x-request-id": bad}).headers.get_list("x-request-id")
        assert len(echoed) == 1
        assert echoed[0] not in ("", bad)
