"""docs/recipes/retrieve-and-rerank.md as it is printed, on the server that it has its reader start.

The reranker of the page's command is the oracle's small one, in a hub cache under the name of Qwen's.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.conftest import LiveServer
from tests.recipe import run, serve_flags
from tests.several_models import cached_reranker

PAGE = "retrieve-and-rerank.md"
TOLERANCE = 1e-5


def test_ten_of_the_store_are_put_in_order_by_the_reranker(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    flags = serve_flags(PAGE)
    server = start_server(*flags, env=cached_reranker(flags[-1].removeprefix("rank="), tmp_path)).wait_until_ready()
    scoring = {card["id"]: card["scoring"] for card in server.http.get("/v1/models").json()["data"]}
    assert (scoring["search"], scoring["rank"]) == ("cosine", "sigmoid")
    names = run(PAGE, server.url, tmp_path)

    documents, results = names["documents"], names["results"]
    assert Counter(key for one in documents for key in one) == {"text": 6, "image": 4}
    assert sorted(result["index"] for result in results) == list(range(10))
    falling = [result["relevance_score"] for result in results]
    assert falling == sorted(falling, reverse=True)

    data = server.ask("/score", {"queries": names["QUERY"], "documents": documents}).json()["data"]
    scores = [one["score"] for one in data]
    np.testing.assert_allclose([scores[result["index"]] for result in results], falling, rtol=0, atol=TOLERANCE)
    asked = {"query": names["QUERY"], "documents": documents, "model": "search"}
    cosines = server.ask("/v1/rerank", asked).json()["results"]
    before = [point.score for point in names["candidates"]]
    assert [one["index"] for one in cosines] == list(range(10))
    np.testing.assert_allclose([one["relevance_score"] for one in cosines], before, rtol=0, atol=TOLERANCE)
