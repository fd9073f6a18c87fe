"""docs/recipes/retrieve-and-rerank.md as it is printed, on the server that it has its reader start."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.conftest import LiveServer
from tests.recipe import run, serve_flags

PAGE = "retrieve-and-rerank.md"
TOLERANCE = 1e-5


def test_ten_of_the_store_are_put_in_order_by_the_reranker(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    server = start_server(*serve_flags(PAGE)).wait_until_ready()
    scoring = {card["id"]: card["scoring"] for card in server.http.get("/v1/models").json()["data"]}
    assert (scoring["search"], scoring["rank"]) == ("cosine", "sigmoid")
    names = run(PAGE, server.url, tmp_path)

    documents, results = names["documents"], names["results"]
    assert Counter(key for one in documents for key in one) == {"text": 5, "image": 5}
    assert sorted(result["index"] for result in results) == list(range(10))
    falling = [result["relevance_score"] for result in results]
    assert falling == sorted(falling, reverse=True)
    wanted = [place for place, point in enumerate(names["candidates"]) if "014" in point.payload["id"]]
    assert [result["index"] for result in results[:2]] == wanted == [5, 6]

    data = server.ask("/score", {"queries": names["QUERY"], "documents": documents}).json()["data"]
    scores = [one["score"] for one in data]
    np.testing.assert_allclose([scores[result["index"]] for result in results], falling, rtol=0, atol=TOLERANCE)
    asked = {"query": names["QUERY"], "documents": documents, "model": "search"}
    cosines = server.ask("/v1/rerank", asked).json()["results"]
    before = [point.score for point in names["candidates"]]
    assert [one["index"] for one in cosines] == list(range(10))
    np.testing.assert_allclose([one["relevance_score"] for one in cosines], before, rtol=0, atol=TOLERANCE)
