"""ColQwen2.5 as it is released, an adapter over its base, through a live server: vectors and scores."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.builders import image_bytes
from tests.conftest import TOLERANCE, LiveServer, data_uri, image_part
from tests.models.late_interaction.engine_checkpoints import adapter, colqwen2_5
from tests.models.late_interaction.reference import EngineReference
from tests.models.late_interaction.served_vectors import difference
from tests.models.vlm.images import EXACT, SMALL, TALL

QUERIES = ["Which lighthouse stands on a cliff?", "", "Wo steht der Leuchtturm?"]
PAGES = [SMALL, TALL, EXACT]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, EngineReference]:
    folder = tmp_path_factory.mktemp("adapters")
    base = colqwen2_5(folder / "colqwen2.5-base")
    found = adapter(folder / "colqwen2.5-v0.2", base)
    return found, EngineReference(base, found)


@pytest.fixture(scope="module")
def late(reference: tuple[Path, EngineReference], start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    cache = {"XDG_CACHE_HOME": str(reference[0].parent / "cache")}
    server = start_server("--model", str(reference[0]), env=cache).wait_until_ready()
    yield server
    server.stop()


def test_queries_and_pages_have_the_references_vectors(
    late: LiveServer, reference: tuple[Path, EngineReference]
) -> None:
    pages = [data_uri(image_bytes(page)) for page in PAGES]
    found = [late.ask("/v2/embed", body).json()["embeddings"] for body in ({"texts": QUERIES}, {"images": pages})]
    got = [np.array(one, "<f4") for kind in found for one in kind["multi_float"]]
    assert difference(got, [reference[1](item) for item in (*QUERIES, *PAGES)]) <= TOLERANCE


def test_a_query_scores_pages_by_maxsim(late: LiveServer, reference: tuple[Path, EngineReference]) -> None:
    documents = [{"content": [image_part(data_uri(image_bytes(page)))]} for page in PAGES]
    wanted = reference[1].scores(reference[1].queries(QUERIES), reference[1].pages(PAGES))
    for query, row in zip(QUERIES, wanted, strict=True):
        results = late.ask("/v1/rerank", {"query": query, "documents": documents}).json()["results"]
        assert [one["index"] for one in results] == list(np.argsort(-row, kind="stable"))
        np.testing.assert_allclose([one["relevance_score"] for one in results], -np.sort(-row), rtol=0, atol=1e-4)


def test_the_models_card_is_the_adapters(late: LiveServer) -> None:
    card = late.http.get("/v1/models").json()["data"][0]
    assert card["id"] == "colqwen2.5-v0.2"
    assert (card["prompt_format"], card["pooling"], card["scoring"]) == ("colqwen2.5", "multi_vector", "max_sim")
