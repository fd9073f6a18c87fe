"""A model whose queries are weighed by a table, through a live server: both sides on every route, and their scores."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sentence_transformers import SparseEncoder

from schemas.endpoints.embed import EmbedResponse
from tests.conftest import TOLERANCE, LiveServer
from tests.ingest.program import Program
from tests.models.sparse.checkpoints import inference_free, reference
from tests.models.text.texts import TEXTS

FEW = list(TEXTS[:12])
QUERIES = ["How do I reset my password?", "a red bicycle", "Der Fuchs, und wo der Hund?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return inference_free("distilbert", tmp_path_factory.mktemp("doc") / "doc-only-small")


@pytest.fixture(scope="module")
def server(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))  # links to its files are kept there
        server = start_server("--model", str(folder), "--result-cache-bytes", str(1 << 20)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def encoder(folder: Path) -> SparseEncoder:
    return reference(folder)


def check(found: list[dict[str, Any]], want: np.ndarray) -> None:
    """Equal as sets above 1e-6, and within the tolerance."""
    for one, row in zip(found, want, strict=True):
        sure = {index for index, value in zip(one["indices"], one["values"], strict=True) if value > 1e-6}
        assert sure == set(np.flatnonzero(row > 1e-6).tolist())
        np.testing.assert_allclose(one["values"], row[one["indices"]], rtol=0, atol=TOLERANCE)


def ask(server: LiveServer, **body: Any) -> dict[str, Any]:
    answer = server.ask("/v2/embed", {"embedding_types": ["sparse"], **body})
    msgspec.json.decode(answer.content, type=EmbedResponse)
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("side", ["query", "search_query"])
def test_queries_are_the_references(server: LiveServer, encoder: SparseEncoder, side: str) -> None:
    want = encoder.encode_query(FEW, convert_to_sparse_tensor=False).numpy()
    check(ask(server, texts=FEW, input_type=side)["embeddings"]["sparse"], want)
    check(ask(server, texts=FEW[3:4], input_type=side)["embeddings"]["sparse"], want[3:4])
    pairs = server.ask("/embed_sparse", {"inputs": FEW, "prompt_name": side}).json()
    turned = [{"indices": [one["index"] for one in row], "values": [one["value"] for one in row]} for row in pairs]
    check(turned, want)


@pytest.mark.parametrize("side", ["document", "passage", "search_document", "classification"])
def test_documents_are_the_references(server: LiveServer, encoder: SparseEncoder, side: str) -> None:
    want = encoder.encode_document(FEW, convert_to_sparse_tensor=False).numpy()
    check(ask(server, texts=FEW, input_type=side)["embeddings"]["sparse"], want)
    pairs = server.ask("/embed_sparse", {"inputs": FEW, "prompt_name": side}).json()
    turned = [{"indices": [one["index"] for one in row], "values": [one["value"] for one in row]} for row in pairs]
    check(turned, want)


def test_the_same_text_of_two_sides_never_answers_for_the_other(server: LiveServer) -> None:
    text = ["a text that came twice"]
    query, document = (ask(server, texts=text, input_type=side)["embeddings"] for side in ("query", "document"))
    assert query != document
    assert ask(server, texts=text, input_type="query")["embeddings"] == query


def test_a_text_of_no_side_is_a_document_and_the_answer_says_so(server: LiveServer) -> None:
    told, document = ask(server, texts=FEW), ask(server, texts=FEW, input_type="document")
    assert told["embeddings"] == document["embeddings"]
    (warning,) = told["meta"]["warnings"]
    assert "no `input_type`: the inputs were embedded as documents" in warning
    assert "warnings" not in document["meta"]


def test_tei_has_no_room_for_a_warning_and_refuses(server: LiveServer) -> None:
    answer = server.http.post("/embed_sparse", json={"inputs": "a red bicycle"})
    error = answer.json()
    assert answer.status_code == 400
    assert "`prompt_name`: got none" in str(error)
    assert "search_query" in str(error)


def test_a_query_of_no_tokens_is_refused(server: LiveServer) -> None:
    answer = server.http.post("/v2/embed", json={"texts": ["a", " "], "input_type": "query"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "empty_input", "texts[1]")


def test_scores_are_of_queries_and_documents(server: LiveServer, encoder: SparseEncoder) -> None:
    want = encoder.similarity(encoder.encode_query(QUERIES), encoder.encode_document(FEW)).numpy()
    assert want.std() > 1
    for query, row in zip(QUERIES, want, strict=True):
        found = server.ask("/v1/rerank", {"query": query, "documents": FEW}).json()["results"]
        assert [one["index"] for one in found] == list(np.argsort(-row, kind="stable"))
        np.testing.assert_allclose([one["relevance_score"] for one in found], -np.sort(-row), rtol=1e-5)
    data = server.ask("/score", {"queries": QUERIES, "documents": FEW[:3]}).json()["data"]
    np.testing.assert_allclose([one["score"] for one in data], np.diag(want), rtol=1e-5)


def test_its_card_says_that_queries_are_looked_up(server: LiveServer) -> None:
    card = server.http.get("/v1/models").json()["data"][0]
    assert (card["looks_queries_up"], card["outputs"], card["scoring"]) == (True, ["sparse"], "dot")
    assert card["endpoints"] == ["embed", "rerank"]
    assert (card["input_types"]["search_query"], card["input_types"]["passage"]) == ("query", "document")
    assert not card["takes_instructions"]


def test_ingest_stores_documents(server: LiveServer, encoder: SparseEncoder, tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(FEW)))
    Program(source, "--to", out, "--outputs", "sparse", "--server", server.url).end()
    lines = sorted((json.loads(line) for line in out.read_text().splitlines()), key=lambda line: int(line["id"]))
    want = encoder.encode_document(FEW, convert_to_sparse_tensor=False).numpy()
    check([line["sparse"] for line in lines], want)
