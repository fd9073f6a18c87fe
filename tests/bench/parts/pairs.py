"""A cross-encoder over HTTP against sentence-transformers' `CrossEncoder.predict` in process, on mixed lengths."""

import json

import numpy as np
from numpy.typing import NDArray

from tests.bench.agreement import check_tokens, max_difference
from tests.bench.checkpoint import minilm_pairs
from tests.bench.figure import Bar, Figure, ratio, spread
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.over_http import OverHttp
from tests.bench.stage import Stage
from tests.bench.work import Work

QUERY_TOKENS, LONGEST = 8, 480
"""Tokens of the query and of the longest document: the model takes 512."""
NUM_BATCHES = 4
"""Times the texts of other parts, so that there is something to sort by length."""
TOLERANCE = {"float32": 1e-5, "bfloat16": 5e-2}
"""Between scores of both sides, by dtype."""
BAR = Bar("≥", 1.3)


def run(stage: Stage) -> list[Figure]:
    """Throughput of one query and its documents, or that sentence-transformers is not installed."""
    what = "throughput of a query and documents of mixed lengths by `/score` on MiniLM, over `CrossEncoder.predict`"
    checkpoint = minilm_pairs(stage.folder.parent)
    peer = stage.cross_encoder(checkpoint)
    if peer is None:
        return [Figure("pairs", what, None, "×", BAR)]
    service = stage.serve("pairs", checkpoint=checkpoint)
    documents = stage.texts.mixed(stage.scale.num_texts * NUM_BATCHES, LONGEST)
    work = same(Work([{"queries": stage.texts.text(QUERY_TOKENS), "documents": documents}], path="/score"))
    rounds = stage.scale.num_rounds
    spent = interleave([Case("service", service, work), Case("peer", peer, work)], rounds)
    num_tokens = service.usage("service", "prompt_tokens")
    check_tokens("peer", num_tokens, peer.num_tokens("peer"))
    difference = max_difference(_scores(service), [np.concatenate(peer.vectors("peer"))])
    if difference > TOLERANCE[stage.dtype]:
        raise RuntimeError(f"sentence-transformers gives other scores: {difference}")
    times = ", ".join(f"{name} {spread(spent[name]).median * 1e3:.0f} ms" for name in ("service", "peer"))
    versions = ", ".join(f"{package} {version}" for package, version in peer.facts.items())
    notes = [f"{times}; {num_tokens:,} tokens on both sides; scores differ by {difference:.1e} at most", versions]
    return [Figure("pairs", what, ratio(spent["peer"], spent["service"]), "×", BAR, rounds, notes, spent)]


def _scores(side: OverHttp) -> list[NDArray[np.float32]]:
    entries = [entry["score"] for body in side.bodies("service") for entry in json.loads(body)["data"]]
    return [np.array(entries, np.float32)]


PART = Part("pairs", "a cross-encoder of MiniLM's shape, against sentence-transformers in process", run, model="minilm")
