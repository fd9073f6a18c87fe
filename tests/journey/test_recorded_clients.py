"""Clients that need a product of their own to run: what each sends, and that what it reads from the answer is there.

Bodies and headers are written from each product's own source. Clients that can be installed are run as they are, in
tests/clients.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer, image, image_part, text_part

V1, V2 = "/v1/embeddings", "/v2/embed"
MODEL = "builtin"
TEXTS = ["a red bicycle", "", "a green door"]
QUERY = "Retrieve images or text relevant to the user's query."
DIMENSIONS_MENU = (256, 512, 1024, 1536, 3072)
"""Choices of n8n; it has no free field."""
GO_JSON = {"Authorization": "Bearer unused", "Content-Type": "application/json", "User-Agent": "Go-http-client/1.1"}
Vectors = list[list[float]]


def v1_vectors(answer: dict[str, Any]) -> Vectors:
    """In the order of the answer: several of these clients never look at `index`."""
    return [entry["embedding"] for entry in answer["data"]]


def v2_vectors(answer: dict[str, Any]) -> Vectors:
    return answer["embeddings"]["float"]


@dataclass(frozen=True)
class Recorded:
    """A request of a client; `same_as` asks for the same vectors in our own words."""

    name: str
    path: str
    body: dict[str, Any]
    same_as: dict[str, Any]
    headers: dict[str, str] = field(default_factory=lambda: GO_JSON)
    read: Callable[[dict[str, Any]], Vectors] = v1_vectors
    is_chunked: bool = False

    @property
    def content(self) -> bytes | Iterator[bytes]:
        raw = json.dumps(self.body).encode()
        return iter((raw[:10], raw[10:])) if self.is_chunked else raw


def dify_chat(content: list[Any]) -> dict[str, Any]:
    """Of langgenius/dify-official-plugins at 080687b, models/openai_api_compatible/models/text_embedding."""
    messages = [
        {"role": "system", "content": [text_part("Represent the user's input.")]},
        {"role": "user", "content": content},
        {"role": "assistant", "content": [text_part("")]},
    ]
    how = {"encoding_format": "float", "continue_final_message": True, "add_special_tokens": True}
    return {"messages": messages, "model": MODEL, **how}


JPEG_SAID_TO_BE_PNG = image(31, kind="JPEG").replace("image/jpeg", "image/png")

RECORDED = (
    Recorded("Weaviate text2vec-openai", V1, {"input": TEXTS, "model": MODEL}, {"input": TEXTS}),
    Recorded("Weaviate text2vec-openai, dimensions", V1, {"input": TEXTS, "model": MODEL, "dimensions": 64},
             {"input": TEXTS, "dimensions": 64}, GO_JSON | {"OpenAI-Organization": "org-1"}),
    Recorded("Weaviate text2vec-cohere", V2,
             {"texts": TEXTS, "model": MODEL, "input_type": "search_query", "embedding_types": ["float"],
              "truncate": "END", "output_dimension": 64},
             {"input": TEXTS, "instruction": QUERY, "dimensions": 64},
             GO_JSON | {"Accept": "application/json", "Request-Source": "unspecified:weaviate"}, v2_vectors),
    Recorded("Weaviate multi2vec-cohere, whose prefix says png whatever the file is", V2,
             {"images": [JPEG_SAID_TO_BE_PNG], "model": MODEL, "input_type": "image", "embedding_types": ["float"]},
             {"inputs": [{"content": [image_part(image(31, kind="JPEG"))]}]}, read=v2_vectors),
    Recorded("Dify's check of a new model", V1, {"input": "ping", "model": MODEL}, {"input": "ping"}),
    Recorded("Dify", V1, {"input": ["x"], "model": MODEL, "encoding_format": "float", "user": "5f3c"}, {"input": "x"}),
    *(Recorded(f"Dify's plugin, an image{name}", V1, dify_chat([image_part(image(31)), text_part(text)]),
               {"inputs": [{"content": [image_part(image(31)), text_part(text)]}]})
      for name, text in (("", ""), (" and a text", "red"))),
    Recorded("Open WebUI", V1, {"input": TEXTS, "model": MODEL}, {"input": TEXTS},
             GO_JSON | {"X-OpenWebUI-User-Name": "Ada%20L", "X-OpenWebUI-User-Id": "1", "X-OpenWebUI-User-Role": "user",
                        "X-OpenWebUI-User-Email": "ada@example.com", "X-OpenWebUI-Chat-Id": "2"}),
    Recorded("Open WebUI with RAG_EMBEDDING_PREFIX_FIELD_NAME=instruction", V1,
             {"input": TEXTS, "model": MODEL, "instruction": QUERY}, {"input": TEXTS, "instruction": QUERY}),
    Recorded("Elasticsearch's openai service", V1, {"input": TEXTS, "model": MODEL, "user": "me", "dimensions": 64},
             {"input": TEXTS, "dimensions": 64}),
    Recorded("OpenSearch's connector", V1, {"model": MODEL, "input": TEXTS}, {"input": TEXTS},
             {"Authorization": "Bearer unused", "Content-Type": "application/json; charset=UTF-8"}),
    Recorded("pgai", V1, {"input": TEXTS, "model": MODEL, "encoding_format": "float", "user": "me", "dimensions": 128},
             {"input": TEXTS}),
    Recorded("a client of vLLM's /pooling", "/pooling", {"input": TEXTS, "model": MODEL, "task": "embed"},
             {"input": TEXTS}, read=lambda answer: [entry["data"] for entry in answer["data"]]),
    Recorded("Spring AI, whose HTTP client sends chunks", V1,
             {"input": TEXTS, "model": MODEL, "encoding_format": "float", "dimensions": 64, "user": "me"},
             {"input": TEXTS, "dimensions": 64}, is_chunked=True),
)  # fmt: skip


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.name)
def test_its_request_gets_its_vectors(server: LiveServer, recorded: Recorded) -> None:
    answer = server.http.post(recorded.path, content=recorded.content, headers=recorded.headers)
    assert answer.status_code == 200, answer.text
    want = server.vectors(recorded.same_as)
    np.testing.assert_allclose(np.array(recorded.read(answer.json()), "<f4"), want, rtol=0, atol=1e-6)


def test_what_stands_around_the_vectors_is_what_they_read(server: LiveServer) -> None:
    answer = server.ask(V1, {"input": TEXTS, "model": MODEL}).json()
    assert answer["model"] == MODEL, "Dify"
    assert answer["usage"]["total_tokens"] >= answer["usage"]["prompt_tokens"] > 0, "Dify, pgai, Spring AI"
    assert [(entry["object"], entry["index"]) for entry in answer["data"]] == [("embedding", i) for i in range(3)]
    assert not any(entry.get("error") for entry in answer["data"]), "Weaviate takes the vector of such an entry away"
    billed = server.ask(V2, {"texts": TEXTS, "model": MODEL}).json()["meta"]["billed_units"]
    assert billed["input_tokens"] > 0, "Weaviate"
    assert all(isinstance(units, int) for units in billed.values()), "Weaviate reads integers, and fails on others"


def test_the_bare_answer_of_v1_embed_has_coheres_fields_and_no_other(server: LiveServer) -> None:
    answer = server.ask("/v1/embed", {"texts": ["x"]})
    assert set(answer.json()) == {"response_type", "id", "embeddings", "texts", "meta"}
    assert answer.headers["x-encoder-cache"] == "hit=0, miss=0"


def test_weaviate_finds_the_cause_of_a_refusal(server: LiveServer) -> None:
    """It reads `error.message` and the request id, from JSON of exactly these types; from Cohere's, `message`."""
    answer = server.http.post(V1, json={"input": TEXTS, "model": "text-embedding-3-small"}, headers=GO_JSON)
    error = answer.json()["error"]
    assert answer.headers["x-request-id"] == error["request_id"]
    assert {type(error[key]) for key in ("message", "type", "param", "code")} == {str}
    cohere = server.http.post(V2, json={"texts": TEXTS, "model": "embed-v4.0"}, headers=GO_JSON).json()
    assert isinstance(cohere["message"], str)
    assert MODEL in cohere["message"]


def test_n8n_lists_the_model_and_its_menus_lengths_are_refused_with_ours(server: LiveServer) -> None:
    """It keeps the ids that contain `embed` in lower case, and LangChain JS asks with what was picked."""
    listed = [card["id"] for card in server.http.get("/v1/models").json()["data"]]
    kept = [name for name in listed if "embed" in name]
    assert kept
    body = {"model": kept[0], "input": TEXTS, "encoding_format": "base64"}
    assert server.http.post(V1, json=body).status_code == 200
    for dimensions in DIMENSIONS_MENU:
        refused = server.http.post(V1, json=body | {"dimensions": dimensions})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (400, "invalid_dimensions")
        assert str(dimensions) in error["message"]
        assert "128" in error["message"]


def test_pgai_reads_the_limit_out_of_the_message(server: LiveServer) -> None:
    refused = server.http.post(V1, json={"input": ["x", "long " * 9000], "model": MODEL, "encoding_format": "float"})
    found = re.search(r"This model's maximum context length is (\d+) tokens", refused.json()["error"]["message"])
    assert refused.status_code == 400
    assert found is not None
    assert int(found[1]) == 8192


def test_open_webui_gets_the_name_of_an_unknown_field(server: LiveServer) -> None:
    refused = server.http.post(V1, json={"input": TEXTS, "model": MODEL, "prefix": "query: "})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_field")
    assert refused.json()["error"]["param"] == "prefix"


def test_a_full_batch_of_pgai_or_the_vercel_sdk_is_taken(server: LiveServer) -> None:
    texts = [f"chunk {i}" for i in range(2048)]
    answer = server.ask(V1, {"input": texts, "model": MODEL, "encoding_format": "float"}).json()
    assert [entry["index"] for entry in answer["data"]] == list(range(2048))
