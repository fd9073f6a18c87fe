"""A text that is a medium's data URI from end to end is refused, on every route and in every form of it."""

import json
from typing import Any

import pytest

from tests.conftest import LiveServer, image, text_part
from tests.journey.conftest import Refusal, assert_refused

pytestmark = pytest.mark.usefixtures("no_server_fault")

URI = image(31)
SAID = ("the data URI of an image as a text", '{"type": "image_url", "image_url": {"url": "data:..."}}')
V1, V2, RERANK, SCORE = "/v1/embeddings", "/v2/embed", "/v1/rerank", "/v1/score"
V2_BODY = {"input_type": "search_document", "embedding_types": ["float"]}


def at(path: str, body: dict[str, Any], param: str, index: int | None = None) -> Any:
    return pytest.param(Refusal(path, path, body, 400, "invalid_request", param, index, SAID), id=f"{path} {param}")


CASES = [
    at(V1, {"input": URI}, "input", 0),
    at(V1, {"input": ["fine", f" {URI}\n"]}, "input[1]", 1),
    at(V1, {"input": ["fine"] * 1500 + [URI]}, "input[1500]", 1500),
    at(V1, {"inputs": [{"content": URI}]}, "inputs[0].content", 0),
    at(V1, {"inputs": [{"content": [text_part("see"), text_part(URI)]}]}, "inputs[0].content[1].text", 0),
    at(V1, {"messages": [{"role": "user", "content": URI}]}, "messages[0].content", 0),
    at(V1, {"messages": [{"role": "user", "content": [text_part(URI)]}]}, "messages[0].content[0].text", 0),
    at(V2, {"texts": ["fine", URI], **V2_BODY}, "texts[1]", 1),
    at(V2, {"inputs": [{"content": [text_part(URI)]}], **V2_BODY}, "inputs[0].content[0].text", 0),
    at("/v1/embed", {"texts": [URI], "input_type": "search_document"}, "texts[0]", 0),
    at("/embed", {"inputs": URI}, "inputs", 0),
    at("/embed", {"inputs": ["fine", URI]}, "inputs[1]", 1),
    at(RERANK, {"query": URI, "documents": ["fine"]}, "query"),
    at(RERANK, {"query": "fine", "documents": ["fine", URI]}, "documents[1]", 1),
    at(RERANK, {"query": "fine", "documents": [{"text": URI}]}, "documents[0].text", 0),
    at(
        "/v2/rerank", {"query": "fine", "documents": [{"content": [text_part(URI)]}]}, "documents[0].content[0].text", 0
    ),
    at("/rerank", {"query": "fine", "texts": [URI]}, "texts[0]", 0),
    at(SCORE, {"text_1": "fine", "text_2": [URI]}, "text_2[0]", 0),
    at(SCORE, {"queries": [URI], "documents": ["fine"]}, "queries[0]"),
    at("/tokenize", {"prompt": URI}, "prompt", 0),
    at("/tokenize", {"inputs": [{"content": URI}]}, "inputs[0].content", 0),
]


@pytest.mark.parametrize("refusal", CASES)
def test_a_data_uri_as_a_text_is_refused_where_it_stands(server: LiveServer, refusal: Refusal) -> None:
    assert_refused(server.http.post(refusal.path, json=refusal.body), refusal)


def test_it_fails_its_own_input_alone(server: LiveServer) -> None:
    entries = server.ask(V1, {"input": ["fine", URI], "on_error": "per_item"}).json()["data"]
    assert entries[0]["embedding"] is not None
    assert (entries[1]["embedding"], entries[1]["error"]["param"]) == (None, "input[1]")
    found = server.ask(RERANK, {"query": "fine", "documents": [URI, "fine"], "on_error": "per_item"}).json()
    assert [one["index"] for one in found["results"]] == [1]
    assert found["errors"][0]["param"] == "documents[0]"


def test_it_fails_its_own_line_alone(server: LiveServer) -> None:
    lines = [{"input": "fine"}, {"input": URI}, {"content": [text_part(URI)]}, {"input": "fine"}]
    body = "\n".join(map(json.dumps, lines))
    answer = server.http.post(f"{V1}/stream", content=body, headers={"content-type": "application/x-ndjson"})
    found = [json.loads(line) for line in answer.text.splitlines()]
    errors = [one["error"] for one in found if one.get("error")]
    assert sorted(error["param"] for error in errors) == ["content[0].text", "input"]


@pytest.mark.parametrize(
    "text", [f"see {URI}", URI.replace(",", ", "), "data: image/png", URI[:22] + "is a prefix", "data"]
)
def test_texts_about_data_uris_are_texts(server: LiveServer, text: str) -> None:
    assert server.vectors({"input": text}).shape == (1, server.vectors({"input": "a"}).shape[1])
