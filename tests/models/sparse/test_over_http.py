"""SPLADE through a live server: its weights on both routes, what is refused and by which words, what is bounded."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from schemas.endpoints.embed import EmbedResponse
from tests.conftest import ROOT, TOLERANCE, LiveServer
from tests.models.sparse.checkpoints import reference, splade
from tests.models.text.texts import TEXTS
from tests.recipe import ADDRESS

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
MAX_BYTES = 40_000
"""Some 5,000 entries."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return splade("bert", tmp_path_factory.mktemp("splade") / "splade-small")


@pytest.fixture(scope="module")
def server(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    limits = ("--max-features-bytes", str(MAX_BYTES), "--result-cache-bytes", str(1 << 20))
    server = start_server("--model", str(folder), *limits).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def want(folder: Path) -> np.ndarray:
    return np.asarray(reference(folder).encode(list(TEXTS), convert_to_sparse_tensor=False))


def dense(sparse: list[dict[str, Any]], size: int) -> np.ndarray:
    found = np.zeros((len(sparse), size), np.float32)
    for row, one in zip(found, sparse, strict=True):
        assert one["indices"] == sorted(set(one["indices"]))
        row[one["indices"]] = one["values"]
    return found


def refusal(server: LiveServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = server.http.post(path, json=body)
    assert answer.status_code == 400
    error: dict[str, Any] = answer.json()["error"]
    return error


def test_texts_have_the_references_weights_alone_together_and_again(server: LiveServer, want: np.ndarray) -> None:
    few = list(TEXTS[:12])
    for texts in (few, few, *([one] for one in few)):
        answer = server.ask("/v2/embed", {"texts": texts, "embedding_types": ["sparse"]})
        msgspec.json.decode(answer.content, type=EmbedResponse)
        found = answer.json()["embeddings"]
        assert list(found) == ["sparse"]
        wanted = np.stack([want[TEXTS.index(text)] for text in texts])
        assert np.abs(dense(found["sparse"], want.shape[1]) - wanted).max() <= TOLERANCE
    default = server.ask("/v2/embed", {"texts": few, "truncate": "END"}).json()["embeddings"]
    assert list(default) == ["sparse"]


def test_repeated_texts_cost_one_forward_and_get_the_same_bits(server: LiveServer) -> None:
    body = {"texts": ["a text that is new here"] * 5, "embedding_types": ["sparse"]}
    first = server.ask("/v2/embed", body).json()["embeddings"]["sparse"]
    before = server.metric("cenote_result_cache_hits_total")
    again = server.ask("/v2/embed", body).json()["embeddings"]["sparse"]
    assert first == again == [first[0]] * 5
    assert server.metric("cenote_result_cache_hits_total") == before + 5


def test_tokens_as_keys_are_the_vocabularys_entries_with_the_same_weights(server: LiveServer, folder: Path) -> None:
    texts = list(TEXTS[:6])
    answer = server.ask("/v2/embed", {"texts": texts, "embedding_types": ["sparse_tokens", "sparse"]})
    msgspec.json.decode(answer.content, type=EmbedResponse)
    found = answer.json()["embeddings"]
    assert list(found) == ["sparse", "sparse_tokens"]
    model = reference(folder)
    for text, by_id, by_token in zip(texts, found["sparse"], found["sparse_tokens"], strict=True):
        assert list(by_token.values()) == by_id["values"]
        assert list(by_token) == model.tokenizer.convert_ids_to_tokens(by_id["indices"])
        wanted = dict(model.decode(model.encode(text)))
        assert by_token == pytest.approx({token: float(weight) for token, weight in wanted.items()}, abs=TOLERANCE)
    assert any(token.startswith("##") for token in by_token), "as they stand in the vocabulary"
    alone = server.ask("/v2/embed", {"texts": texts, "embedding_types": ["sparse_tokens"]}).json()["embeddings"]
    assert alone == {"sparse_tokens": found["sparse_tokens"]}


def test_tei_has_the_same_weights_as_pairs(server: LiveServer) -> None:
    texts = list(TEXTS[:6])
    ours = server.ask("/v2/embed", {"texts": texts}).json()["embeddings"]["sparse"]
    pairs = server.ask("/embed_sparse", {"inputs": texts}).json()
    assert [[one["index"] for one in row] for row in pairs] == [one["indices"] for one in ours]
    assert [[one["value"] for one in row] for row in pairs] == [one["values"] for one in ours]
    assert server.ask("/embed_sparse", {"inputs": texts[0], "truncate": True}).json() == pairs[:1]
    query = server.ask("/embed_sparse", {"inputs": texts[0], "prompt_name": "query"}).json()
    assert query == server.ask("/embed_sparse", {"inputs": f"query: {texts[0]}"}).json() != pairs[:1]


def test_its_card_says_what_it_has(server: LiveServer, want: np.ndarray) -> None:
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["outputs"], card["pooling"], card["scoring"]) == (["sparse"], "splade", "dot")
    assert (card["endpoints"], card["dimensions"]) == (["embed", "rerank"], want.shape[1])
    assert not card["looks_queries_up"]
    assert "warnings" not in server.ask("/v2/embed", {"texts": ["a"]}).json()["meta"]


def test_scores_are_dot_products_of_queries_and_documents(server: LiveServer, folder: Path) -> None:
    encoder, documents = reference(folder), list(TEXTS[:6])
    queries = encoder.encode_query(["a red bicycle", "?"])
    want = encoder.similarity(queries, encoder.encode_document(documents)).numpy()
    found = server.ask("/v1/rerank", {"query": "a red bicycle", "documents": documents}).json()["results"]
    np.testing.assert_allclose([one["relevance_score"] for one in found], -np.sort(-want[0]), rtol=1e-5)
    data = server.ask("/score", {"queries": ["a red bicycle", "?"], "documents": documents[:2]}).json()["data"]
    np.testing.assert_allclose([one["score"] for one in data], np.diag(want), rtol=1e-5)


def test_documents_that_would_take_too_much_are_refused(server: LiveServer) -> None:
    error = refusal(server, "/v1/rerank", {"query": "a red bicycle", "documents": list(TEXTS)})
    assert (error["code"], error["param"]) == ("too_many_inputs", "documents")


@pytest.mark.parametrize("kind", ["float", "int8", "multi_float"])
def test_other_kinds_are_refused_by_name(server: LiveServer, kind: str) -> None:
    error = refusal(server, "/v2/embed", {"texts": ["a"], "embedding_types": ["sparse", kind]})
    assert error["param"] == "embedding_types[1]"
    assert f"got {kind}; splade-small gives a sparse vector of an input, as any of sparse" in error["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": "a"}),
        ("/v1/embed", {"texts": ["a"]}),
        ("/embed", {"inputs": "a"}),
    ],
)
def test_routes_for_dense_vectors_name_the_model_and_where_to_go(
    server: LiveServer, path: str, body: dict[str, Any]
) -> None:
    answer = server.http.post(path, json=body)
    assert answer.status_code == 400
    assert "splade-small gives sparse vectors" in answer.text
    assert "/v2/embed" in answer.text


def test_a_stream_refuses_it(server: LiveServer) -> None:
    answer = server.http.post("/v1/embeddings/stream", content=b'{"input": "a"}\n', headers=NDJSON)
    assert answer.status_code == 400
    assert "splade-small gives sparse vectors" in answer.text


def test_another_length_is_refused(server: LiveServer) -> None:
    assert refusal(server, "/v2/embed", {"texts": ["a"], "output_dimension": 8})["code"] == "invalid_dimensions"


def test_a_bad_text_leaves_its_place_empty(server: LiveServer) -> None:
    types = ["sparse", "sparse_tokens"]
    body = {"texts": ["a good one", "half \ud800 a character"], "on_error": "per_item", "embedding_types": types}
    answer = server.http.post("/v2/embed", content=json.dumps(body).encode(), headers=JSON).json()
    assert "embeddings" in answer, answer
    assert answer["embeddings"]["sparse"][0]["indices"]
    assert answer["embeddings"]["sparse"][1] == {"indices": [], "values": []}
    assert answer["embeddings"]["sparse_tokens"][1] == {}
    assert [one["index"] for one in answer["errors"]] == [1]


def test_an_answer_that_is_too_large_is_refused_and_its_room_given_back(server: LiveServer) -> None:
    error = refusal(server, "/v2/embed", {"texts": list(TEXTS), "embedding_types": ["sparse"]})
    assert error["code"] == "too_many_inputs"
    assert f"one answer may hold {MAX_BYTES}" in error["message"]
    server.ask("/v2/embed", {"texts": list(TEXTS[:8])})
    assert server.metric("cenote_answer_bytes") == 0


def test_a_dense_model_has_no_sparse_vectors(builtin: LiveServer) -> None:
    error = refusal(builtin, "/v2/embed", {"texts": ["a"], "embedding_types": ["sparse"]})
    assert error["param"] == "embedding_types[0]"
    assert "got sparse; builtin gives one vector of an input, as any of float, int8" in error["message"]
    answer = builtin.http.post("/embed_sparse", json={"inputs": "a"})
    assert answer.status_code == 400
    assert "builtin gives no sparse vectors" in answer.text
    assert builtin.http.get("/v1/models").json()["data"][0]["outputs"] == ["dense"]


def test_the_page_writes_what_elasticsearch_takes(server: LiveServer) -> None:
    """docs/api.md's block as printed; the products of its query and documents are those of the vectors by id."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/api.md").read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block.replace(ADDRESS, server.url), names)
    lines = [json.loads(line) for line in names["bulk"].splitlines()]
    assert [line["text"] for line in lines[1::2]] == names["TEXTS"]
    asked = names["query"]["query"]["sparse_vector"]["query_vector"]
    bodies = (
        {"texts": names["TEXTS"], "input_type": "search_document"},
        {"texts": ["red bicycles"], "input_type": "query"},
    )
    documents, (query,) = (server.ask("/v2/embed", body).json()["embeddings"]["sparse"] for body in bodies)
    by_id = dict(zip(query["indices"], query["values"], strict=True))
    assert len(asked) == len(by_id)
    for line, document in zip(lines[1::2], documents, strict=True):
        pairs = zip(document["indices"], document["values"], strict=True)
        wanted = sum(weight * by_id.get(index, 0.0) for index, weight in pairs)
        found = sum(weight * asked.get(token, 0.0) for token, weight in line["weights"].items())
        assert found == pytest.approx(wanted, rel=1e-6)
