"""Texts that are none: half an emoji, as slicing leaves it in JavaScript, bytes that are not UTF-8, a data URI.

Each is named and alone at fault; `test_twins.py` puts both where texts stand on all routes.
"""

import json
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import LiveServer, image, text_part
from tests.journey.conftest import JSON, V1, V2, Refusal, assert_refused

pytestmark = pytest.mark.usefixtures("no_server_fault")

HALF, URI, NO_IMAGE = "a red \ud83d", image(31), "data:image/png;base64,bm8="
SAID = ("the data URI of an image as a text", '{"type": "image_url", "image_url": {"url": "data:..."}}')
BROKEN = [json.dumps(HALF).encode(), b'"\xe9t\xe9"', json.dumps("a " * 9000 + "\ud83d").encode()]
FORMS = [b'{"input": ["x", %b, "y"]', b'{"inputs": [{"content": "x"}, {"content": %b}, {"content": "y"}]']


def post(server: LiveServer, path: str, body: Any, headers: dict[str, str] = JSON) -> httpx.Response:
    return server.http.post(path, content=body if isinstance(body, bytes) else json.dumps(body), headers=headers)


@pytest.mark.parametrize(
    ("text", "words"),
    [(HALF, ("half of a character",)), (URI, SAID), (f" {URI}\n", SAID)],
    ids=["half", "URI", "URI between blanks"],
)
def test_it_is_refused_as_a_part_that_is_said_to_be_a_text(
    server: LiveServer, text: str, words: tuple[str, ...]
) -> None:
    body = {"inputs": [{"content": "fine"}, {"content": [text_part("see"), text_part(text)]}]}
    refusal = Refusal(V1, V1, body, 400, "invalid_request", "inputs[1].content[1].text", 1, words)
    assert_refused(post(server, V1, refusal.raw), refusal)


def test_half_a_character_is_refused_where_it_stands(server: LiveServer) -> None:
    text, words = HALF, ("half of a character",)
    for path, body, param, index in (
        (V1, {"input": text}, "input", None),
        (V1, {"input": ["fine"] * 1500 + [text]}, "input[1500]", 1500),
        (V2, {"texts": ["fine", text]}, "texts[1]", 1),
        ("/v1/rerank", {"query": text, "documents": ["fine"]}, "query", None),
        ("/score", {"text_1": "fine", "text_2": [text]}, "text_2[0]", 0),
    ):  # fmt: skip
        refusal = Refusal(path, path, body, 400, "invalid_request", param, index, words)
        assert_refused(post(server, path, refusal.raw), refusal)


def test_half_a_character_is_named_in_an_image_and_for_all_items(server: LiveServer) -> None:
    for path, body, param in (
        ("/v1/image_embeds", {"images": [{"type": "image_url", "image_url": HALF}]}, "images[0].image_url"),
        (V1, {"input": ["x"], "instruction": HALF, "on_error": "per_item"}, "instruction"),
    ):
        error = post(server, path, body).json()["error"]
        assert (error["code"], error["param"]) == ("invalid_request", param)


def test_bytes_that_are_not_utf8_are_named_too(server: LiveServer) -> None:
    error = post(server, V1, b'{"input": ["x", "\xe9t\xe9"]}').json()["error"]
    assert (error["code"], error["param"], error["index"]) == ("invalid_json", "input[1]", 1)
    assert "UTF-8" in error["message"]


@pytest.mark.parametrize("text", [*BROKEN, json.dumps(NO_IMAGE).encode()], ids=["half", "bytes", "long", "URI"])
@pytest.mark.parametrize("form", FORMS)
def test_per_item_only_that_one_fails(server: LiveServer, text: bytes, form: bytes) -> None:
    answer = post(server, V1, form % text + b', "on_error": "per_item", "truncate": "END", "z": null}')
    assert answer.status_code == 200, answer.text
    first, broken, last = answer.json()["data"]
    want = server.vectors({"input": ["x", "y"]})
    np.testing.assert_allclose(np.array([first["embedding"], last["embedding"]], "<f4"), want, atol=1e-6)
    assert (broken["embedding"], broken["error"]["index"]) == (None, 1)
    assert broken["error"]["param"] in ("input[1]", "inputs[1].content")


def test_a_document_fails_alone_and_texts_are_echoed_with_a_sign_for_the_half(server: LiveServer) -> None:
    found = server.ask("/v1/rerank", {"query": "fine", "documents": [NO_IMAGE, "fine"], "on_error": "per_item"}).json()
    assert [one["index"] for one in found["results"]] == [1]
    assert found["errors"][0]["param"] == "documents[0]"
    answer = post(server, V2, {"texts": ["x", HALF, "é"], "on_error": "per_item"}).json()
    assert [len(row) for row in answer["embeddings"]["float"]] == [128, 0, 128]
    assert answer["texts"] == ["x", "a red \ufffd", "é"]
    (error,) = answer["errors"]
    assert (error["code"], error["param"], error["index"]) == ("invalid_request", "texts[1]", 1)


def test_a_line_of_a_stream_fails_alone(server: LiveServer) -> None:
    bad = [{"id": "h", "input": HALF}, {"content": [text_part(HALF)]}, {"content": [text_part(URI)]}]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in ({"input": "x"}, *bad))
    answer = post(server, f"{V1}/stream", body, {"content-type": "application/x-ndjson"})
    got = {one["index"]: one for one in map(json.loads, answer.text.splitlines()) if "index" in one}
    assert [got[i]["type"] for i in range(4)] == ["embedding", *["error"] * 3]
    assert [got[i]["error"]["param"] for i in (1, 2, 3)] == ["input", "content[0].text", "content[0].text"]


def test_whole_emoji_are_as_good_as_any_text(server: LiveServer) -> None:
    escaped = post(server, V1, rb'{"input": ["\ud83d\ude00 \\ud83d"]}').json()["data"][0]["embedding"]
    assert escaped == server.ask(V1, {"input": ["😀 \\ud83d"]}).json()["data"][0]["embedding"]


@pytest.mark.parametrize(
    "text", [f"see {URI}", URI.replace(",", ", "), "data: image/png", URI[:22] + "is a prefix", "data"]
)
def test_texts_about_data_uris_are_texts(server: LiveServer, text: str) -> None:
    assert server.vectors({"input": text}).shape == (1, 128)
