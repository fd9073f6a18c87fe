"""docs/recipes/hybrid-search.md: its table as measured in labelled searches, and the code as printed, in small."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from tests.conftest import LiveServer
from tests.ingest.program import Program
from tests.models.hybrid.checkpoints import bge_m3
from tests.models.hybrid.train import pairs
from tests.recipe import RECIPES, TOLERANCE, run, serve_flags

pytestmark = pytest.mark.slow

CHECKPOINT = Path(__file__).parents[1] / "models" / "hybrid" / "scenes"
NUM_SHEETS, NUM_SEARCHES, NUM_FOUND, NUM_CANDIDATES = 600, 200, 10, 50
SEED = 83

Find = Callable[[list[float], models.SparseVector, list[list[float]]], list[models.ScoredPoint]]


def test_both_kinds_together_find_more_than_either(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    searches, sheets = pairs(NUM_SHEETS, np.random.default_rng(SEED), held_out=True)
    source = tmp_path / "sheets.jsonl"
    source.write_text(
        "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(sheet.text for sheet in sheets))
    )
    server = start_server("--model", str(CHECKPOINT)).wait_until_ready()
    to = ("--to", f"qdrant:{tmp_path / 'store'}#texts", "--server", server.url, "--outputs", "dense,sparse,multi")
    assert Program(source, *to).end()["points"] == NUM_SHEETS
    body = {"texts": [one.text for one in searches[:NUM_SEARCHES]], "input_type": "search_query"}
    types = {"embedding_types": ["float", "sparse", "multi_float"]}
    vectors = server.ask("/v2/embed", body | types).json()["embeddings"]
    server.stop()
    gains: dict[str, list[float]] = {}
    store = QdrantClient(path=str(tmp_path / "store"))
    for place, one in enumerate(searches[:NUM_SEARCHES]):
        dense, sparse, tokens = (vectors[kind][place] for kind in ("float", "sparse", "multi_float"))
        answers = np.array([one.holds(sheet) for sheet in sheets])
        for way, find in ways(store).items():
            found = [int((point.payload or {})["id"]) for point in find(dense, models.SparseVector(**sparse), tokens)]
            gains.setdefault(way, []).append(ndcg(answers, found))
    store.close()
    means = {way: float(np.mean(values)) for way, values in gains.items()}
    print(means)
    assert means["dense and sparse"] > max(means["dense"], means["sparse"]) + TOLERANCE
    assert means["dense and sparse, then tokens"] > means["dense and sparse"] + TOLERANCE
    page = (RECIPES / "hybrid-search.md").read_text()
    table = re.findall(r"^\| (dense.*|sparse) \| (0\.\d+) \|$", page, re.MULTILINE)
    assert {way for way, _ in table} == set(means)
    assert all(abs(means[way] - float(figure)) <= TOLERANCE for way, figure in table)


def ways(store: QdrantClient) -> Mapping[str, Find]:
    """Searches of the store: by one kind, by two joined as the page joins them, and these in the order of tokens."""

    def search(query: object, using: str | None = None, prefetch: object = None) -> list[models.ScoredPoint]:
        limit = {"limit": NUM_FOUND, "prefetch": prefetch}
        return store.query_points("texts", query=query, using=using, **limit).points  # type: ignore[arg-type]

    def first(dense: list[float], sparse: models.SparseVector) -> list[models.Prefetch]:
        by_kind = {"dense": dense, "sparse": sparse}
        return [models.Prefetch(query=one, using=kind, limit=NUM_CANDIDATES) for kind, one in by_kind.items()]

    fusion = models.FusionQuery(fusion=models.Fusion.RRF)
    return {
        "dense": lambda dense, sparse, tokens: search(dense, "dense"),
        "sparse": lambda dense, sparse, tokens: search(sparse, "sparse"),
        "dense and sparse": lambda dense, sparse, tokens: search(fusion, None, first(dense, sparse)),
        "dense and sparse, then tokens": lambda dense, sparse, tokens: search(
            tokens, "multi", models.Prefetch(prefetch=first(dense, sparse), query=fusion, limit=NUM_CANDIDATES)
        ),
    }


def ndcg(answers: np.ndarray, found: list[int]) -> float:
    """nDCG@10 with gains of 0 and 1.

    Source: Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques.
    """
    discounts = 1 / np.log2(np.arange(2, NUM_FOUND + 2))
    best = discounts[: min(NUM_FOUND, int(answers.sum()))].sum()
    return float((answers[found] * discounts[: len(found)]).sum() / best)


PAGE = "hybrid-search.md"
RRF_K = 2
"""Of Qdrant: a rank from 0 counts 1 / (2 + rank)."""
NUM_FEW = 8


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
        ranked = [place for place in np.argsort(scores)[::-1] if counts[place]][:NUM_FEW]
        fused[ranked] += 1 / (RRF_K + np.arange(len(ranked)))
    candidates = np.argsort(fused)[::-1][:NUM_FEW]
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
