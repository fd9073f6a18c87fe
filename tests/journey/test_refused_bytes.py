"""Bodies that are no requests, and requests that miss their route: refused before anything is read into them."""

import gzip
import socket
import time
from collections.abc import Iterator

import pytest

from tests.conftest import LiveServer
from tests.journey.conftest import GOOD, JSON, V1, V2, Refusal, assert_refused, v1, v2

pytestmark = pytest.mark.usefixtures("no_server_fault")
MAX_BODY_BYTES = 32 << 20

BYTES = (
    v1("empty body", b"", 400, "invalid_json", words="JSON|got nothing"),
    v1("byte order mark", b'\xef\xbb\xbf{"input": "x"}', 400, "invalid_json", words="byte order mark"),
    v1("incomplete JSON", b'{"input": "x"', 400, "invalid_json", words="byte 13"),
    v1("text after JSON", b'{"input": "x"} x', 400, "invalid_json"),
    v1("invalid UTF-8", b'{"input": "\xff\xfe"}', 400, "invalid_json", "input", words="UTF-8"),
    v1("lone surrogate", b'{"input": "\\ud800"}', 400, "invalid_request", "input", words="half of a character"),
    v1("not a number", b'{"input": "x", "timeout": NaN}', 400, "invalid_json"),
    v1("infinity", b'{"input": "x", "timeout": Infinity}', 400, "invalid_json"),
    v1("deep nesting", b'{"input":' + b"[" * 100_000, 400, "invalid_request", "input[0]", 0, words="a string|an array"),
    v1("deep nesting in an unknown field", b'{"x":' + b"[" * 100_000, 400, "unknown_field", "x"),
    v1("deep objects", b'{"inputs":' + b'[{"content":' * 50_000, 400, "invalid_json", words="too deeply"),
    v2("empty body", b"", 400, "invalid_json"),
    v2("invalid UTF-8", b'{"texts": ["\xff"]}', 400, "invalid_json", "texts[0]", 0, words="UTF-8"),
    v2("deep nesting", b'{"texts":' + b"[" * 100_000, 400, "invalid_request", "texts[0]", 0),
)

TRANSPORT = (
    Refusal("wrong content type", V1, GOOD, 415, "unsupported_media_type", words=("text/plain", "application/json"),
            headers={"content-type": "text/plain"}),
    Refusal("no content type", V1, GOOD, 415, "unsupported_media_type", words=("nothing",), headers={}),
    Refusal("form", V2, b"texts=x", 415, "unsupported_media_type",
            headers={"content-type": "application/x-www-form-urlencoded"}),
    Refusal("compressed", V1, gzip.compress(b'{"input":"x"}'), 415, "unsupported_media_type", words=("gzip",),
            headers=JSON | {"content-encoding": "gzip"}),
    Refusal("another charset", V1, GOOD, 415, "unsupported_media_type", words=("charset", "utf-8"),
            headers={"content-type": "application/json; charset=latin-1"}),
    Refusal("another charset of Cohere's", V2, GOOD, 415, "unsupported_media_type", words=("utf-8",),
            headers={"content-type": 'application/json;Charset="UTF-16"'}),
    Refusal("unknown route", "/v1/embedding", GOOD, 404, "route_not_found", words=("/openapi.json",)),
    Refusal("unknown route of Cohere's", "/v2/embeddings", GOOD, 404, "route_not_found"),
    Refusal("wrong method", "/v1/models", GOOD, 405, "method_not_allowed"),
    Refusal("oversize body", V1, b'{"input":"' + b"x" * MAX_BODY_BYTES + b'"}', 413, "body_too_large",
            words=(str(MAX_BODY_BYTES),)),
    Refusal("oversize body of Cohere's", V2, b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
    Refusal("oversize body of Cohere's v1", "/v1/embed", b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
    Refusal("oversize body of tokens", "/tokenize", b" " * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
)  # fmt: skip

ALL = (*BYTES, *TRANSPORT)


@pytest.mark.parametrize("refusal", ALL, ids=lambda refusal: refusal.name)
def test_it_is_refused_clearly_and_the_next_request_works(server: LiveServer, refusal: Refusal) -> None:
    answer = server.http.post(refusal.path, content=refusal.raw, headers=refusal.headers)
    assert_refused(answer, refusal)
    assert server.http.post(V1, json=GOOD).status_code == 200


@pytest.mark.parametrize("path", [V1, V2])
def test_an_oversize_body_without_a_declared_length_is_refused_too(server: LiveServer, path: str) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(MAX_BODY_BYTES // (1 << 20) + 2):
            yield b" " * (1 << 20)

    answer = server.http.post(path, content=chunks(), headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert server.http.post(V1, json=GOOD).status_code == 200


def test_a_wrong_method_names_the_right_ones(server: LiveServer) -> None:
    answer = server.http.get(V1)
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert "POST" in answer.headers["allow"]


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


def test_a_client_that_hangs_up_in_the_middle_of_its_body_leaves_no_trace(server: LiveServer) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST {V1} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    for _ in range(3):
        with socket.create_connection((host, int(port))) as client:
            client.sendall(head.encode() + b'{"input": "x')
            time.sleep(0.05)
    assert server.http.post(V1, json=GOOD).status_code == 200
