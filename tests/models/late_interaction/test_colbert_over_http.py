"""ColBERT through a live server: queries and documents by `input_type`, MaxSim on the routes of the second stage."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sentence_transformers import MultiVectorEncoder

from schemas.endpoints.embed import EmbedResponse
from tests.conftest import TOLERANCE, LiveServer
from tests.models.late_interaction.colberts import TOKEN_WIDTH, Shape, native, pylate, reference
from tests.models.text.texts import TEXTS

pytestmark = pytest.mark.slow

FEW = list(TEXTS[:16])
QUERIES = ["How do I reset my password?", "", "Der Fuchs, und wo der Hund?", "word " * 60]
MEAN = Shape(expansion={"strategy": "min", "length": 16}, lengths=(40, 60), normalize=False, similarity="meanmaxsim")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pylate("modernbert", tmp_path_factory.mktemp("late") / "colbert-small", document_length=40)


@pytest.fixture(scope="module")
def server(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = start_server("--model", str(folder), "--result-cache-bytes", str(1 << 20)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def stock(folder: Path) -> MultiVectorEncoder:
    return reference(folder)


def vectors(server: LiveServer, **body: object) -> list[np.ndarray]:
    answer = server.ask("/v2/embed", body)
    msgspec.json.decode(answer.content, type=EmbedResponse)
    found = answer.json()["embeddings"]
    assert list(found) == ["multi_float"]
    return [np.array(one, "<f4").reshape(-1, TOKEN_WIDTH) for one in found["multi_float"]]


def difference(got: list[np.ndarray], want: list[np.ndarray]) -> float:
    assert [one.shape for one in got] == [one.shape for one in want]
    return max(float(np.abs(one - other).max()) for one, other in zip(got, want, strict=True))


def scores(stock: MultiVectorEncoder, queries: list[str], documents: list[str]) -> np.ndarray:
    """`[queries, documents]` by the model's own similarity."""
    both: tuple[Any, Any] = stock.encode_query(queries), stock.encode_document(documents)
    return stock.similarity(*both).numpy()


@pytest.mark.parametrize("query", ["query", "search_query"])
def test_queries_are_the_references(server: LiveServer, stock: MultiVectorEncoder, query: str) -> None:
    want = stock.encode_query(FEW, convert_to_numpy=True)
    assert difference(vectors(server, texts=FEW, input_type=query), want) <= TOLERANCE
    for text, one in zip(FEW[:4], want[:4], strict=True):
        assert difference(vectors(server, texts=[text], input_type=query), [one]) <= TOLERANCE


@pytest.mark.parametrize("document", ["document", "passage", "search_document", "clustering", None])
def test_whatever_is_no_query_is_a_document(
    server: LiveServer, stock: MultiVectorEncoder, document: str | None
) -> None:
    asked = {} if document is None else {"input_type": document}
    want = stock.encode_document(FEW, convert_to_numpy=True)
    assert difference(vectors(server, texts=FEW, **asked), want) <= TOLERANCE
    items = [{"content": [{"type": "text", "text": text}]} for text in FEW]
    assert difference(vectors(server, inputs=items, **asked), want) <= TOLERANCE


def test_the_same_text_on_both_sides_never_shares_a_run(server: LiveServer, stock: MultiVectorEncoder) -> None:
    for _ in range(2):
        asked = vectors(server, texts=FEW[:3] * 2, input_type="query")
        assert difference(asked, stock.encode_query(FEW[:3] * 2, convert_to_numpy=True)) <= TOLERANCE
        found = vectors(server, texts=FEW[:3] * 2)
        assert difference(found, stock.encode_document(FEW[:3] * 2, convert_to_numpy=True)) <= TOLERANCE


def test_every_type_holds_the_same_vectors(server: LiveServer) -> None:
    kinds = ["multi_float", "multi_ubinary", "multi_int8"]
    found = server.ask("/v2/embed", {"texts": FEW, "embedding_types": kinds}).json()["embeddings"]
    for rows, bits in zip(found["multi_float"], found["multi_ubinary"], strict=True):
        assert np.array_equal(np.unpackbits(np.array(bits, np.uint8), axis=1), np.array(rows) >= 0)


def test_a_text_that_is_longer_than_its_side_is_cut_or_refused(server: LiveServer, stock: MultiVectorEncoder) -> None:
    long = " ".join(TEXTS[:6])
    for side, encode, most in (("query", stock.encode_query, 32), ("document", stock.encode_document, 40)):
        want = encode([long], convert_to_numpy=True)
        assert difference(vectors(server, texts=[long], input_type=side), want) <= TOLERANCE
        answer = server.http.post("/v2/embed", json={"texts": [long], "input_type": side, "truncate": "NONE"})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "context_length_exceeded")
        assert f"maximum context length is {most} tokens" in error["message"]


def test_scores_are_the_references(server: LiveServer, stock: MultiVectorEncoder) -> None:
    want = scores(stock, QUERIES, FEW)
    for query, row in zip(QUERIES, want, strict=True):
        found = server.ask("/v1/rerank", {"query": query, "documents": FEW}).json()["results"]
        got = {one["index"]: one["relevance_score"] for one in found}
        np.testing.assert_allclose([got[i] for i in range(len(FEW))], row, rtol=0, atol=1e-4)
        assert [one["relevance_score"] for one in found] == sorted(got.values(), reverse=True)
    data = server.ask("/score", {"queries": QUERIES, "documents": FEW[: len(QUERIES)]}).json()["data"]
    np.testing.assert_allclose([one["score"] for one in data], np.diag(want), rtol=0, atol=1e-4)


def test_an_instruction_and_dense_types_are_refused(server: LiveServer) -> None:
    for body in (
        {"texts": ["x"], "instruction": "Find it."},
        {"texts": ["x"], "embedding_types": ["float"]},
        {"texts": ["x"], "input_type": "summary"},
    ):
        assert server.http.post("/v2/embed", json=body).status_code == 400
    error = server.http.post("/v1/embeddings", json={"input": "x"}).json()["error"]
    assert (error["param"], "`/v2/embed`" in error["message"]) == ("model", True)


def test_its_card(server: LiveServer) -> None:
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["outputs"], card["pooling"], card["scoring"]) == (["multi"], "multi_vector", "max_sim")
    assert (card["dimensions"], card["max_tokens"], card["max_vectors_per_input"]) == (TOKEN_WIDTH, 40, 40)
    assert (card["input_types"]["search_query"], card["input_types"]["passage"]) == ("query", "document")
    assert (card["prompt_format"], card["takes_instructions"]) == ("colbert", False)


def test_a_mean_of_maxima_of_vectors_that_are_not_normalized(
    tmp_path: Path, start_server: Callable[..., LiveServer]
) -> None:
    folder = native("bert", tmp_path / "colbert", MEAN)
    stock, server = reference(folder), start_server("--model", str(folder)).wait_until_ready()
    try:
        want = stock.encode_document(FEW, convert_to_numpy=True)
        assert difference(vectors(server, texts=FEW), want) <= TOLERANCE * np.abs(np.concatenate(want)).max()
        found = server.ask("/v1/rerank", {"query": QUERIES[0], "documents": FEW}).json()["results"]
        row = scores(stock, QUERIES[:1], FEW)[0]
        np.testing.assert_allclose([one["relevance_score"] for one in found], -np.sort(-row), rtol=1e-5, atol=1e-4)
        card = server.http.get("/v1/models").json()["data"][0]
        assert (card["normalize"], card["scoring"]) == (False, "mean_max_sim")
    finally:
        server.stop()
