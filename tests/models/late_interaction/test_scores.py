"""Scores of ColQwen2: MaxSim, as transformers' own processor has it, of the vectors of its own forward."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import image_bytes
from tests.conftest import LiveServer, data_uri, image_part
from tests.models.late_interaction.reference import ColQwen2Reference
from tests.models.vlm.images import EXACT, LARGE, SMALL, TALL, image

QUERIES = ["Which lighthouse stands on a cliff?", "", "Wo steht der Leuchtturm?", "What is drawn here?"]
PAGES = [SMALL, TALL, LARGE, EXACT]
MAX_BYTES = 1 << 19


@pytest.fixture(scope="module")
def late(folder: Path, start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    server = start_server("--model", str(folder), "--max-features-bytes", str(MAX_BYTES)).wait_until_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def want(folder: Path) -> np.ndarray:
    """`[queries, pages]`"""
    reference = ColQwen2Reference(folder)
    return reference.scores(reference.queries(QUERIES), reference.pages(PAGES))


def items(pages: list[Any]) -> list[dict[str, Any]]:
    return [{"content": [image_part(data_uri(image_bytes(page)))]} for page in pages]


def test_each_query_scores_pages_as_the_reference(late: LiveServer, want: np.ndarray) -> None:
    for query, row in zip(QUERIES, want, strict=True):
        found = late.ask("/v1/rerank", {"query": query, "documents": items(PAGES)}).json()["results"]
        assert [one["index"] for one in found] == list(np.argsort(-row, kind="stable"))
        np.testing.assert_allclose([one["relevance_score"] for one in found], -np.sort(-row), rtol=0, atol=1e-4)


def test_pairs_are_the_diagonal(late: LiveServer, want: np.ndarray) -> None:
    data = late.ask("/score", {"queries": QUERIES, "documents": items(PAGES)}).json()["data"]
    np.testing.assert_allclose([one["score"] for one in data], np.diag(want), rtol=0, atol=1e-4)


def test_vectors_that_would_take_too_much_are_refused_before_a_page_is_seen(late: LiveServer) -> None:
    before = late.metric("cenote_vision_encodes_total")
    pages = items([image(100 + seed, 700, 560) for seed in range(16)])
    answer = late.http.post("/v1/rerank", json={"query": QUERIES[0], "documents": pages})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "too_many_inputs", "documents")
    assert late.metric("cenote_vision_encodes_total") == before


def test_an_instruction_is_refused_and_the_card_says_what_scores_are(late: LiveServer) -> None:
    answer = late.http.post("/v1/rerank", json={"query": "a", "documents": ["b"], "instruction": "Find it."})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "instruction")
    assert late.http.get("/v1/models").json()["data"][0]["scoring"] == "max_sim"
