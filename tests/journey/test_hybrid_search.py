"""docs/recipes/hybrid-search.md as it is printed, on a small random model with BGE-M3's heads in place of BGE-M3."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import LiveServer
from tests.models.hybrid.checkpoints import bge_m3
from tests.recipe import run, serve_flags

pytestmark = pytest.mark.slow

PAGE = "hybrid-search.md"
RRF_K = 2
"""Of Qdrant: a rank from 0 counts 1 / (2 + rank)."""
NUM_CANDIDATES = 8


def test_two_kinds_find_and_the_third_puts_in_order(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    assert serve_flags(PAGE) == ["--model", "BAAI/bge-m3"]
    server = start_server("--model", str(bge_m3(tmp_path / "bge-m3-small"))).wait_until_ready()
    names = run(PAGE, server.url, tmp_path)
    wanted = by_hand(server, names["TEXTS"], names["QUERY"])
    assert [text for _, text in names["results"]] == [text for _, text in wanted]
    scores = [score for score, _ in names["results"]]
    assert scores == pytest.approx([score for score, _ in wanted], abs=1e-4)
    server.stop()


def by_hand(server: LiveServer, texts: list[str], query: str) -> list[tuple[float, str]]:
    """The three best of the fused lists, by the mean of the query's tokens' best cosines; no store is here."""
    *documents, asked = embedded(server, [*texts, query])
    dense = [document["float"] @ asked["float"] for document in documents]
    weights = asked["sparse"]
    sparse = [
        sum(value * weights.get(index, 0.0) for index, value in document["sparse"].items()) for document in documents
    ]
    overlaps = [bool(document["sparse"].keys() & weights.keys()) for document in documents]
    fused = np.zeros(len(texts))
    for scores, counts in ((dense, [True] * len(texts)), (sparse, overlaps)):
        ranked = [place for place in np.argsort(scores)[::-1] if counts[place]][:NUM_CANDIDATES]
        fused[ranked] += 1 / (RRF_K + np.arange(len(ranked)))
    candidates = np.argsort(fused)[::-1][:NUM_CANDIDATES]
    best = {place: (asked["multi"] @ documents[place]["multi"].T).max(axis=1).mean() for place in candidates}
    return [(float(best[place]), texts[place]) for place in sorted(best, key=best.__getitem__, reverse=True)[:3]]


def embedded(server: LiveServer, texts: list[str]) -> list[dict[str, Any]]:
    found = server.ask("/v2/embed", {"texts": texts, "embedding_types": ["float", "sparse", "multi_float"]}).json()
    rows = zip(*(found["embeddings"][kind] for kind in ("float", "sparse", "multi_float")), strict=True)
    return [
        {
            "float": np.array(dense),
            "sparse": dict(zip(sparse["indices"], sparse["values"], strict=True)),
            "multi": np.array(multi),
        }
        for dense, sparse, multi in rows
    ]
