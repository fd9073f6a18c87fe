"""`Accept: application/octet-stream`: the bytes of the vectors, and headers for the rest."""

import base64
import itertools
from typing import Any, get_args

import httpx
import numpy as np
import openai
import pytest

from schemas.fields import EmbedDtype, Endianness
from tests.conftest import LiveServer, image, image_part, text_part
from tests.journey.conftest import V1

RAW = {"accept": "application/octet-stream"}
TEXTS = ["a red bicycle", "a green door", ""]
FORMATS = list(itertools.product(get_args(EmbedDtype), get_args(Endianness)))
WIDTH = {"float32": 4, "float16": 2, "bfloat16": 2}


def ask_raw(server: LiveServer, body: dict[str, Any]) -> httpx.Response:
    answer = server.http.post(V1, json=body, headers=RAW)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == RAW["accept"]
    return answer


@pytest.mark.parametrize(("dtype", "endianness"), FORMATS)
def test_the_bytes_are_those_of_base64_one_vector_after_another(
    server: LiveServer, dtype: str, endianness: str
) -> None:
    body = {
        "inputs": [{"content": [image_part(image(91)), text_part("a door")]}, {"content": "a wall"}],
        "dimensions": 100,
        "embed_dtype": dtype,
        "endianness": endianness,
    }
    data = server.ask(V1, body | {"encoding_format": "base64"}).json()["data"]
    answer = ask_raw(server, body)
    assert answer.content == b"".join(base64.b64decode(entry["embedding"]) for entry in data)
    assert len(answer.content) == 2 * 100 * WIDTH[dtype]
    assert answer.headers["x-embedding-shape"] == "2,100"
    assert answer.headers["x-embedding-dtype"] == dtype
    assert answer.headers["x-embedding-endianness"] == ("big" if endianness == "big" else "little")


def test_headers_have_what_json_has(server: LiveServer) -> None:
    body = {"input": ["word " * 40, "short", "word " * 50], "truncate_prompt_tokens": 30}
    told = server.ask(V1, body).json()
    headers = ask_raw(server, body).headers
    assert int(headers["x-embedding-truncated"]) == sum(entry["truncated"] for entry in told["data"]) == 2
    assert int(headers["x-prompt-tokens"]) == told["usage"]["prompt_tokens"]
    assert headers["x-encoder-cache"] == "hit=0, miss=0"
    assert float(headers["x-total-time"]) > 0
    assert headers["x-request-id"]


def test_the_openai_client_gets_it_though_it_asks_for_base64_unasked(server: LiveServer) -> None:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
        answer = client.embeddings.with_raw_response.create(model="builtin", input=TEXTS, extra_headers=RAW)
    got = np.frombuffer(answer.content, "<f4").reshape(len(TEXTS), -1)
    np.testing.assert_array_equal(got, server.vectors({"input": TEXTS}))


@pytest.mark.parametrize("encoding_format", ["float", "base64"])
def test_encoding_format_is_about_json_and_changes_nothing(server: LiveServer, encoding_format: str) -> None:
    plain = ask_raw(server, {"input": TEXTS}).content
    assert ask_raw(server, {"input": TEXTS, "encoding_format": encoding_format}).content == plain


def test_raw_takes_the_fewest_bytes_and_half_precision_half_of_them(server: LiveServer) -> None:
    sizes = [
        len(server.ask(V1, {"input": TEXTS}).content),
        len(server.ask(V1, {"input": TEXTS, "encoding_format": "base64"}).content),
        len(ask_raw(server, {"input": TEXTS}).content),
        len(ask_raw(server, {"input": TEXTS, "embed_dtype": "float16"}).content),
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2:] == [len(TEXTS) * 128 * 4, len(TEXTS) * 128 * 2]


BYTES = [
    "application/octet-stream",
    "Application/Octet-Stream; Q=1.0",
    "application/octet-stream, application/json;q=0.9",
    "application/json;q=0.5,application/octet-stream;q=0.501",
    "application/octet-stream, */*",
    "application/octet-stream;q=0.8, application/*;q=0.8",
    "application/octet-stream;q=0.2, text/html",
    "application/json;q=0, */*",
    "application/json;q=0, application/*;q=0.1",
    "application/octet-stream;v=1;q=0.5, application/json;q=0.4",
    "*/*;q=nan, application/octet-stream;q=0.001",
]
LIKES_JSON = [
    "*/*",
    "application/*",
    "application/json",
    "application/json, application/octet-stream",
    "application/octet-stream, application/json",
    "application/octet-stream;q=0.5, */*;q=0.8",
    "application/octet-stream;q=0.5, application/json;q=0.6",
    "application/octet-stream;q=0, */*",
    "application/octet-stream;q=0",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/html",
    "application/json;q=0",
    "application/octet-stream;q=2",
    "application/octet-stream;q=-1",
    "application/octet-stream;q=1e0",
    "application/octet-stream;q=",
    "application/octet-streams",
    "octet-stream",
    "",
    ",;,",
]


@pytest.mark.parametrize(
    ("accepts", "is_raw"),
    [
        *(([accept], True) for accept in BYTES),
        *(([accept], False) for accept in LIKES_JSON),
        (["application/json;q=0.1", "application/octet-stream"], True),  # several headers are one list
        (["application/json", "application/octet-stream;q=0.9"], False),
    ],
)
def test_bytes_are_for_who_prefers_them_and_all_others_get_json(
    server: LiveServer, accepts: list[str], is_raw: bool
) -> None:
    answer = server.http.post(V1, json={"input": "x"}, headers=[("accept", accept) for accept in accepts])
    assert answer.headers["content-type"] == (RAW["accept"] if is_raw else "application/json")
    assert ("x-embedding-shape" in answer.headers) == is_raw
    assert is_raw or len(answer.json()["data"][0]["embedding"]) == 128


def test_vary_names_accept(server: LiveServer) -> None:
    assert server.ask(V1, {"input": "x"}).headers["vary"] == "Accept"
    assert ask_raw(server, {"input": "x"}).headers["vary"] == "Accept"


def test_errors_are_json_all_the_same(server: LiveServer) -> None:
    for body in ({"input": "x", "dimension": 3}, {"input": "x", "dimensions": 4096}, {"input": "word " * 20_000}):
        answer = server.http.post(V1, json=body, headers=RAW)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")
        assert answer.json()["error"]["code"]


def test_raw_bytes_have_no_place_for_a_failure(server: LiveServer) -> None:
    answer = server.http.post(V1, json={"input": TEXTS, "on_error": "per_item"}, headers=RAW)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "conflicting_input", "on_error")
    assert "application/octet-stream" in error["message"]
    assert ask_raw(server, {"input": TEXTS, "on_error": "fail"}).headers["x-embedding-shape"] == "3,128"


def test_the_cohere_route_stays_json(server: LiveServer) -> None:
    answer = server.http.post("/v2/embed", json={"texts": TEXTS}, headers=RAW)
    assert answer.json()["embeddings"]["float"]
