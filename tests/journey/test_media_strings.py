"""A string that is wholly a medium is that medium, wherever texts stand: the vectors are those of the part."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer, image, image_part
from tests.pdf_file import pdf, slide

URI = image(31)
AS_PART = {"inputs": [{"content": [image_part(URI)]}]}


def bits(server: LiveServer, path: str, body: dict[str, Any]) -> list[Any]:
    answer = server.ask(path, body).json()
    if isinstance(answer, list):
        return answer
    if "embeddings" in answer:
        found: list[Any] = (
            answer["embeddings"]["float"] if isinstance(answer["embeddings"], dict) else answer["embeddings"]
        )
        return found
    return [one.get("embedding", one.get("score")) for one in answer["data"]]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": URI}),
        ("/v1/embeddings", {"input": [URI]}),
        ("/v1/embeddings", {"input": [f" {URI}\n"]}),
        ("/v2/embed", {"texts": [URI], "embedding_types": ["float"]}),
        ("/embed", {"inputs": [URI]}),
    ],
)
def test_a_data_uri_is_the_image(keeping: LiveServer, path: str, body: dict[str, Any]) -> None:
    (got,), (want,) = bits(keeping, path, body), bits(keeping, "/v1/embeddings", AS_PART)
    assert got == want


def test_it_is_one_among_thousands_of_texts(keeping: LiveServer) -> None:
    texts = [f"text {number}" for number in range(600)]
    got = keeping.vectors({"input": [*texts, URI]})
    np.testing.assert_array_equal(got[-1:], keeping.vectors(AS_PART))


def test_it_counts_as_an_image(keeping: LiveServer) -> None:
    usage = keeping.ask("/v1/embeddings", {"input": [URI, "a door"]}).json()["usage"]
    assert usage["num_inputs"] == 2
    assert usage["prompt_tokens_details"]["image_tokens"] > 0


def test_a_line_of_a_stream_is_the_image_too(keeping: LiveServer) -> None:
    line = json.dumps({"input": URI}) + "\n"
    answer = keeping.http.post("/v1/embeddings/stream", content=line, headers={"content-type": "application/x-ndjson"})
    (entry,) = [one for one in map(json.loads, answer.text.splitlines()) if one["type"] == "embedding"]
    assert entry["embedding"] == bits(keeping, "/v1/embeddings", AS_PART)[0]


def test_a_query_and_a_document_are_the_image_too(keeping: LiveServer) -> None:
    for query, document in ((URI, "a door"), ("a door", URI), (URI, URI)):
        part = {"content": [image_part(URI)]}
        mine = {"queries": [query], "documents": [document]}
        same = {"queries": [part if query == URI else query], "documents": [part if document == URI else document]}
        assert bits(keeping, "/score", mine) == bits(keeping, "/score", same)


def test_a_page_is_read_and_a_broken_image_is_refused_as_itself(server: LiveServer) -> None:
    uri = "data:application/pdf;base64," + base64.b64encode(pdf(1, slide, (100, 80))).decode()
    part = {"type": "file", "file": {"file_data": uri}}
    got, want = (server.vectors(body) for body in ({"input": [uri]}, {"inputs": [{"content": [part]}]}))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6)
    error = server.refusal("/v1/embeddings", {"input": ["a", "data:image/png;base64,AAAA"]}, 422)
    assert (error["code"], error["param"], error["index"]) == ("media_undecodable", "input[1]", 1)
