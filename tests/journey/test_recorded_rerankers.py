"""Rerankers of products that need much to run: what each sends, and its ranking read as its own source reads it.

Bodies, headers and readers are written from these sources; clients that can be installed are run as they are, in
tests/clients.

Sources: milvus-io/milvus, internal/util/function/models/{vllm/vllm_client,tei/tei,cohere/cohere_client}.go and
internal/util/function/rerank/*_rerank_provider.go; langgenius/dify-official-plugins at 7af2283,
models/{openai_api_compatible,jina,cohere,gpustack}/models/rerank/rerank.py and models/huggingface_tei/models/helper.py;
open-webui/open-webui, backend/open_webui/retrieval/models/external.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conftest import LiveServer, image, image_part, text_part

MODEL = "builtin"
QUERY = "a red bicycle"
TEXTS = ["a green door", "a red bicycle against a wall", "", "a blue bicycle"]
PICTURE = image(31)
PICTURES = [{"content": [text_part("a green door")]}, {"content": [image_part(PICTURE)]}]
"""As Dify sends them. An image whose address it mistrusts leaves a document without parts, which is refused."""
GO_JSON = {"Authorization": "Bearer unused", "Content-Type": "application/json", "User-Agent": "Go-http-client/1.1"}
REQUESTS_JSON = {"Authorization": "Bearer unused", "Content-Type": "application/json", "Accept": "*/*"}
Ranking = list[tuple[int, float]]


def ranked(scores: list[float]) -> Ranking:
    """Rank scores in the order of the documents: the best first."""
    return sorted(enumerate(scores), key=lambda one: -one[1])


def milvus(answer: dict[str, Any]) -> Ranking:
    """Decoded into Go's types, which fails on others; sorted by index, and the i-th score is the i-th document's."""
    results = sorted(answer["results"], key=lambda one: one["index"])
    assert {(type(one["index"]), type(one["relevance_score"])) for one in results} == {(int, float)}
    assert isinstance(answer["id"], str)
    return ranked([one["relevance_score"] for one in results])


def milvus_vllm(answer: dict[str, Any]) -> Ranking:
    assert isinstance(answer["model"], str)
    assert isinstance(answer["usage"]["total_tokens"], int)
    return milvus(answer)


def milvus_cohere(answer: dict[str, Any]) -> Ranking:
    assert isinstance(answer["meta"]["api_version"]["version"], str)
    assert isinstance(answer["meta"]["billed_units"]["search_units"], int)
    return milvus(answer)


def milvus_tei(answer: list[dict[str, Any]]) -> Ranking:
    """A bare list, sorted by index; a document without a score is an error."""
    scores = {one["index"]: one["score"] for one in answer}
    return ranked([scores[index] for index in range(len(answer))])


def dify(answer: dict[str, Any]) -> Ranking:
    """In the order of the answer, or sorted again by score."""
    return [(one["index"], one["relevance_score"]) for one in answer["results"]]


def dify_cohere(answer: dict[str, Any]) -> Ranking:
    """Each text is taken from the answer; gpustack and LocalAI do so where a result has a `document`."""
    assert [one["document"]["text"] for one in answer["results"]] == [TEXTS[one["index"]] for one in answer["results"]]
    return dify(answer)


def dify_tei(answer: list[dict[str, Any]]) -> Ranking:
    assert [one["text"] for one in answer] == [TEXTS[one["index"]] for one in answer]
    return [(one["index"], one["score"]) for one in answer]


def open_webui(answer: dict[str, Any]) -> Ranking:
    """Scores in the order of the documents, which it sorts itself."""
    return ranked([one["relevance_score"] for one in sorted(answer["results"], key=lambda one: one["index"])])


@dataclass(frozen=True)
class Recorded:
    """A request of a product; `how` asks `/score` for the same in our own words."""

    name: str
    path: str
    body: dict[str, Any]
    read: Callable[[Any], Ranking]
    documents: list[Any] = field(default_factory=lambda: TEXTS)
    how: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=lambda: GO_JSON)


ASKED = {"model": MODEL, "query": QUERY, "documents": TEXTS}
MULTIMODAL = [{"text": "a green door"}, {"image": PICTURE.partition(",")[2]}]
RECORDED = (
    Recorded("Milvus' vllm, which names no model", "/rerank", {"query": QUERY, "documents": TEXTS}, milvus_vllm),
    Recorded("Milvus' vllm, cut", "/rerank", {"query": QUERY, "documents": TEXTS, "truncate_prompt_tokens": 38},
             milvus_vllm, how={"truncate_prompt_tokens": 38}),
    Recorded("Milvus' tei", "/rerank", {"query": QUERY, "texts": TEXTS}, milvus_tei),
    Recorded("Milvus' tei, cut", "/rerank",
             {"query": QUERY, "texts": TEXTS, "truncate": True, "truncation_direction": "Left"}, milvus_tei),
    Recorded("Milvus' cohere", "/v2/rerank", ASKED, milvus_cohere,
             headers=GO_JSON | {"accept": "application/json", "Authorization": "bearer unused"}),
    Recorded("Milvus' siliconflow", "/v1/rerank", ASKED | {"max_chunks_per_doc": 10}, milvus_cohere),
    Recorded("Dify's OpenAI-API-compatible", "/v1/rerank", ASKED | {"top_n": len(TEXTS)}, dify, headers=REQUESTS_JSON),
    Recorded("Dify's OpenAI-API-compatible, with images", "/v1/rerank",
             ASKED | {"documents": PICTURES, "top_n": len(PICTURES)}, dify, PICTURES, headers=REQUESTS_JSON),
    Recorded("Dify's jina", "/v1/rerank", ASKED | {"top_n": None, "return_documents": False}, dify,
             headers=REQUESTS_JSON),
    Recorded("Dify's jina, with images", "/v1/rerank",
             {"model": MODEL, "query": {"text": QUERY}, "documents": MULTIMODAL, "top_n": None,
              "return_documents": False}, dify, MULTIMODAL, headers=REQUESTS_JSON),
    Recorded("Dify's cohere", "/v1/rerank", ASKED | {"top_n": None, "return_documents": True}, dify_cohere,
             headers=REQUESTS_JSON | {"X-Fern-Language": "Python"}),
    Recorded("Dify's huggingface_tei", "/rerank", {"query": QUERY, "texts": TEXTS, "return_text": True}, dify_tei,
             headers=REQUESTS_JSON),
    Recorded("Open WebUI", "/v1/rerank", ASKED | {"top_n": len(TEXTS)}, open_webui,
             headers=REQUESTS_JSON | {"X-OpenWebUI-User-Name": "Ada%20L", "X-OpenWebUI-User-Id": "1",
                                      "X-OpenWebUI-User-Email": "ada@example.com", "X-OpenWebUI-User-Role": "user"}),
)  # fmt: skip


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded.name)
def test_its_request_gets_the_servers_ranking(server: LiveServer, recorded: Recorded) -> None:
    answer = server.http.post(recorded.path, json=recorded.body, headers=recorded.headers)
    assert answer.status_code == 200, answer.text
    asked = {"queries": QUERY, "documents": recorded.documents, **recorded.how}
    want = ranked([one["score"] for one in server.ask("/score", asked).json()["data"]])
    got = recorded.read(answer.json())
    assert [index for index, _ in got] == [index for index, _ in want]
    assert [score for _, score in got] == pytest.approx([score for _, score in want], abs=1e-6)


def test_dify_asks_a_tei_server_what_it_does(server: LiveServer) -> None:
    """The first key of `model_type` decides; an embedder is taken for one, as from TEI itself."""
    info = server.http.get("/info").json()
    assert next(iter(info["model_type"])) == "embedding"
    assert info["max_input_length"] > 0
    assert info["max_client_batch_size"] > 1
