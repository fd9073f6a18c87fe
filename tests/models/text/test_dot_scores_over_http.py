"""A model whose files compare by dot products: scores and order are the reference's, which cosines contradict."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from service.ingest.arguments import add_arguments, options_of
from service.ingest.plan import make_layout, make_plan
from tests.conftest import TOLERANCE, LiveServer
from tests.models.text.checkpoints import make_checkpoint, reference
from tests.models.text.texts import TEXTS

NAMES = "config_sentence_transformers.json"


def test_scores_are_the_references_dot_products(tmp_path: Path, start_server: Callable[..., LiveServer]) -> None:
    folder = make_checkpoint("mpnet", tmp_path / "checkpoint")
    names = json.loads((folder / NAMES).read_text())
    (folder / NAMES).write_text(json.dumps(names | {"similarity_fn_name": "dot"}))
    server = start_server("--model", str(folder)).wait_until_ready()
    try:
        model, (query, *documents) = reference(folder), TEXTS[:20]
        vectors = model.encode([query, *documents])
        theirs = model.similarity(vectors[:1], vectors[1:])[0].numpy()
        body = {"query": query, "documents": documents}
        found = server.http.post("/v1/rerank", json=body).json()["results"]
        scores = {one["index"]: one["relevance_score"] for one in found}
        ours = np.array([scores[i] for i in range(len(documents))])
        assert np.abs(ours - theirs).max() <= TOLERANCE * np.abs(theirs).max()
        assert [one["index"] for one in found] == list(np.argsort(-theirs, kind="stable"))
        lengths = np.linalg.norm(vectors[1:], axis=1)
        assert list(np.argsort(-theirs / lengths)) != list(np.argsort(-theirs))  # cosines have another order
        answer = server.http.post("/score", json={"text_1": query, "text_2": documents}).json()
        assert np.abs(np.array([one["score"] for one in answer["data"]]) - ours).max() <= 1e-6
        card = server.http.get("/v1/models").json()["data"][0]
        assert card["scoring"] == "dot"
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        options = options_of(parser.parse_args(["texts.jsonl", "--to", "out.jsonl"]))
        assert make_layout(card, make_plan(card, options)).by_dot
    finally:
        server.stop()
