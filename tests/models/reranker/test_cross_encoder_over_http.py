"""A cross-encoder through a live server: found by its files, started and checked, its scores those of the reference."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from sentence_transformers import CrossEncoder

from tests.conftest import TOLERANCE, LiveServer
from tests.models.reranker.checkpoints import make_cross_encoder
from tests.models.text.texts import TEXTS

pytestmark = pytest.mark.slow

QUERY, DOCUMENTS = TEXTS[2], list(TEXTS[5:20])
Served = tuple[LiveServer, CrossEncoder]


@pytest.fixture(scope="module", params=["bert", "xlm_roberta"])
def served(
    request: pytest.FixtureRequest, start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = make_cross_encoder(request.param, tmp_path_factory.mktemp(request.param) / "checkpoint")
    server = start_server("--model", str(folder)).wait_until_ready()
    yield server, CrossEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})
    server.stop()


def test_rerank_gives_the_references_scores_behind_the_activation_of_the_files(served: Served) -> None:
    server, reference = served
    results = server.ask("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS}).json()["results"]
    theirs = reference.predict([(QUERY, document) for document in DOCUMENTS])
    assert [one["relevance_score"] for one in results] == sorted(one["relevance_score"] for one in results)[::-1]
    ours = {one["index"]: one["relevance_score"] for one in results}
    assert np.abs(np.array([ours[i] for i in range(len(DOCUMENTS))]) - theirs).max() <= TOLERANCE


def test_embedding_routes_refuse_it_and_an_instruction_is_refused(served: Served) -> None:
    server, _ = served
    assert server.http.post("/v1/embeddings", json={"input": "a"}).status_code == 400
    refused = server.http.post("/v1/rerank", json={"query": QUERY, "documents": DOCUMENTS, "instruction": "Find it."})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "instruction"
