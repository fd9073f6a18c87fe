"""The built-in models as two stages: the page docs/recipes/retrieve-and-rerank.md as it is printed, on the server that
it has its reader start; one vision tower for both, and an order that is better after the second.
"""

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import Scene, draw
from cenote_builtin.scenes.variants import hard_family
from tests.conftest import LiveServer, data_uri
from tests.recipe import run, serve_flags

pytestmark = pytest.mark.slow

PAGE = "retrieve-and-rerank.md"
TOLERANCE = 1e-5
NUM_FAMILIES, NUM_OTHERS = 24, 3
SIZE_PX = 128


@pytest.fixture(scope="module")
def both(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server(*serve_flags(PAGE)).wait_until_ready()


def test_ten_of_the_store_are_put_in_order_by_the_reranker(both: LiveServer, tmp_path: Path) -> None:
    scoring = {card["id"]: card["scoring"] for card in both.http.get("/v1/models").json()["data"]}
    assert (scoring["search"], scoring["rank"]) == ("cosine", "sigmoid")
    names = run(PAGE, both.url, tmp_path)

    documents, results = names["documents"], names["results"]
    assert Counter(key for one in documents for key in one) == {"text": 5, "image": 5}
    assert sorted(result["index"] for result in results) == list(range(10))
    falling = [result["relevance_score"] for result in results]
    assert falling == sorted(falling, reverse=True)
    wanted = [place for place, point in enumerate(names["candidates"]) if "014" in point.payload["id"]]
    assert [result["index"] for result in results[:2]] == wanted == [5, 6]

    data = both.ask("/score", {"queries": names["QUERY"], "documents": documents}).json()["data"]
    scores = [one["score"] for one in data]
    np.testing.assert_allclose([scores[result["index"]] for result in results], falling, rtol=0, atol=TOLERANCE)
    asked = {"query": names["QUERY"], "documents": documents, "model": "search"}
    cosines = both.ask("/v1/rerank", asked).json()["results"]
    before = [point.score for point in names["candidates"]]
    assert [one["index"] for one in cosines] == list(range(10))
    np.testing.assert_allclose([one["relevance_score"] for one in cosines], before, rtol=0, atol=TOLERANCE)


def shown(scene: Scene) -> str:
    file = io.BytesIO()
    draw(scene, SIZE_PX).save(file, "PNG")
    return data_uri(file.getvalue())


def order(server: LiveServer, query: str, documents: list[dict[str, str]], model: str) -> list[int]:
    body = {"query": query, "documents": documents, "model": model}
    return [entry["index"] for entry in server.ask("/v2/rerank", body).json()["results"]]


def test_of_scenes_that_differ_in_a_size_the_second_stage_finds_the_wanted_one_more_often(both: LiveServer) -> None:
    rng, before = np.random.default_rng(31), both.metric("cenote_vision_encodes_total")
    firsts: dict[str, list[bool]] = {"search": [], "rank": []}
    for _ in range(NUM_FAMILIES):
        scenes = hard_family("sizes", NUM_OTHERS, rng, held_out=True)
        documents = [{"image": shown(scene)} for scene in scenes]
        query = caption(scenes[0], "whole", rng)
        for model, found in firsts.items():
            found.append(order(both, query, documents, model)[0] == 0)
    embedder, reranker = (float(np.mean(found)) for found in firsts.values())
    assert reranker >= 0.7
    assert reranker > embedder
    # one tower for both: each image was encoded once
    assert both.metric("cenote_vision_encodes_total") - before == NUM_FAMILIES * (1 + NUM_OTHERS)
