"""Half an emoji, as slicing a text in JavaScript leaves it, and bytes that are not UTF-8: named, and alone at fault."""

import json
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import LiveServer

HALF = "a red \ud83d"
BROKEN = [json.dumps(HALF).encode(), b'"\xe9t\xe9"', json.dumps("a " * 9000 + "\ud83d").encode()]
FORMS = [b'{"input": ["x", %b, "y"]', b'{"inputs": [{"content": "x"}, {"content": %b}, {"content": "y"}]']


def post(server: LiveServer, path: str, body: Any, kind: str = "application/json") -> httpx.Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.http.post(path, content=raw, headers={"content-type": kind})


def part(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("path", "body", "param", "index"),
    [
        ("/v1/embeddings", {"input": ["x", HALF]}, "input[1]", 1),
        ("/v1/embeddings", {"input": HALF}, "input", None),
        ("/v1/embeddings", {"input": ["x", "\ude00 a"]}, "input[1]", 1),
        ("/v1/embeddings", {"inputs": [part("x"), part(HALF)]}, "inputs[1].content[0].text", 1),
        ("/v1/embeddings", {"messages": [{"role": "user", "content": HALF}]}, "messages[0].content", None),
        ("/v1/embeddings", {"input": ["x"], "instruction": HALF, "on_error": "per_item"}, "instruction", None),
        ("/v2/embed", {"texts": ["x", "y", HALF]}, "texts[2]", 2),
        ("/v1/embed", {"texts": ["x", HALF]}, "texts[1]", 1),
        ("/tokenize", {"prompt": HALF}, "prompt", None),
        ("/v1/image_embeds", {"images": [{"type": "image_url", "image_url": HALF}]}, "images[0].image_url", 0),
    ],
)
def test_the_field_is_named_on_every_route(
    server: LiveServer, path: str, body: dict, param: str, index: int | None
) -> None:
    answer = post(server, path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"], error["index"]) == (400, "invalid_request", param, index)
    assert f"`{param}`" in error["message"]
    assert "half of a character" in error["message"]


def test_bytes_that_are_not_utf8_are_named_too(server: LiveServer) -> None:
    error = post(server, "/v1/embeddings", b'{"input": ["x", "\xe9t\xe9"]}').json()["error"]
    assert (error["code"], error["param"], error["index"]) == ("invalid_json", "input[1]", 1)
    assert "UTF-8" in error["message"]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("form", FORMS)
def test_per_item_only_that_one_fails(server: LiveServer, text: bytes, form: bytes) -> None:
    fields = b', "on_error": "per_item", "truncate": "END", "z": null}'
    answer = post(server, "/v1/embeddings", form % text + fields)
    assert answer.status_code == 200, answer.text
    first, broken, last = answer.json()["data"]
    want = server.vectors({"input": ["x", "y"]})
    np.testing.assert_allclose(np.array([first["embedding"], last["embedding"]], "<f4"), want, atol=1e-6)
    assert broken["embedding"] is None
    assert broken["error"]["index"] == 1
    assert broken["error"]["param"] in ("input[1]", "inputs[1].content")


def test_per_item_on_v2_the_texts_are_echoed_with_a_sign_for_the_half(server: LiveServer) -> None:
    answer = post(server, "/v2/embed", {"texts": ["x", HALF, "é"], "on_error": "per_item"})
    assert answer.status_code == 200, answer.text
    assert [len(row) for row in answer.json()["embeddings"]["float"]] == [128, 0, 128]
    assert answer.json()["texts"] == ["x", "a red \ufffd", "é"]
    (error,) = answer.json()["errors"]
    assert (error["code"], error["param"], error["index"]) == ("invalid_request", "texts[1]", 1)


def test_a_line_of_a_stream_fails_alone(server: LiveServer) -> None:
    lines = [{"input": "x"}, {"id": "h", "input": HALF}, part(HALF)]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    answer = post(server, "/v1/embeddings/stream", body, "application/x-ndjson")
    got = {one["index"]: one for one in map(json.loads, answer.text.splitlines()) if "index" in one}
    assert [got[i]["type"] for i in range(3)] == ["embedding", "error", "error"]
    assert [got[i]["error"]["param"] for i in (1, 2)] == ["input", "content[0].text"]


def test_whole_emoji_are_as_good_as_any_text(server: LiveServer) -> None:
    escaped = post(server, "/v1/embeddings", rb'{"input": ["\ud83d\ude00 \\ud83d"]}').json()["data"][0]["embedding"]
    assert escaped == server.ask("/v1/embeddings", {"input": ["😀 \\ud83d"]}).json()["data"][0]["embedding"]
