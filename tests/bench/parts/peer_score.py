"""The server of `--against` on the same pairs of a reranker: one query and its candidates by vLLM's `/score`.

The checkpoint is `random_reranker`'s, which the other server has to serve with the template of Qwen's rerankers
(`sides/judged_pair.jinja`); both sides have to report the same number of tokens and give the same scores. Every round
has a new query and new documents. Both may keep what the pairs of a query begin with.
"""

import json
from functools import cache

import numpy as np
from numpy.typing import NDArray

from service.checkpoint.hub import CHECKPOINT
from tests.bench.agreement import check_tokens, max_difference
from tests.bench.checkpoint import RERANKER, random_reranker
from tests.bench.figure import Bar, Figure, ratio, spread
from tests.bench.parts.part import Part
from tests.bench.parts.rerank import FAMILY, QUERY_TOKENS
from tests.bench.rounds import Case, interleave
from tests.bench.sides.over_http import OverHttp
from tests.bench.stage import Stage
from tests.bench.texts import TextMaker
from tests.bench.work import Work

NUM_DOCUMENTS, DOCUMENT_TOKENS = 64, (15, 54)
NUM_WARM = 2
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2}
"""Between scores of both sides, by dtype."""
BAR = Bar("≥", 1.2)


def run(stage: Stage) -> list[Figure]:
    """Throughput of the service over the other server's, or that there is none."""
    what = (
        f"throughput of one query of {QUERY_TOKENS} tokens × {NUM_DOCUMENTS} short documents by `/score`, over the "
        "server of `--against`"
    )
    if stage.against is None:
        return [Figure("peer_score", what, None, "×", BAR)]
    checkpoint = RERANKER if stage.checkpoint == CHECKPOINT else random_reranker("small", stage.folder.parent)
    service = stage.serve("peer_score", *FAMILY, checkpoint=checkpoint)
    texts = TextMaker(checkpoint)

    @cache  # both sides of a round get the same pairs
    def of_round(_: int) -> Work:
        return Work([{"queries": texts.text(QUERY_TOKENS), "documents": _documents(texts)}], path="/score")

    sides, rounds = {"service": service, "against": stage.against}, stage.scale.num_rounds
    spent = interleave([Case(name, side, of_round, True) for name, side in sides.items()], rounds, NUM_WARM, rests=True)
    ours, theirs = (side.usage(name, "prompt_tokens") for name, side in sides.items())
    check_tokens("against", ours, theirs)
    difference = max_difference(_scores(service, "service"), _scores(stage.against, "against"))
    if difference > TOLERANCE[stage.dtype]:
        raise RuntimeError(f"the server of --against gives other scores: {difference}")
    times = ", ".join(f"{name} {spread(spent[name]).median * 1e3:.0f} ms" for name in sides)
    notes = [f"{stage.dtype}; {times}; {ours:,} tokens on both sides; scores differ by {difference:.1e} at most"]
    value = ratio(spent["against"], spent["service"])
    return [Figure("peer_score", what, value, "×", BAR, rounds, notes, spent)]


def _documents(texts: TextMaker) -> list[str]:
    """New texts, of lengths from one end of `DOCUMENT_TOKENS` to the other."""
    least, most = DOCUMENT_TOKENS
    return [texts.text(least + n * (most - least) // (NUM_DOCUMENTS - 1)) for n in range(NUM_DOCUMENTS)]


def _scores(side: OverHttp, label: str) -> list[NDArray[np.float32]]:
    return [np.array([entry["score"] for entry in json.loads(body)["data"]], np.float32) for body in side.bodies(label)]


PART = Part("peer_score", "another server on the same pairs of a reranker", run)
