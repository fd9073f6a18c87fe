"""Mixed traffic: short texts with a tenth of long documents among them, several requests under way at once."""

import random
from statistics import median

from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.spread import quantile, ratio
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

CONCURRENCY = 8
LONG_SHARE = 10
SHORT_TOKENS = 32


def run(stage: Stage) -> Measured:
    """Throughput over the bare forward, and what the short ones wait for."""
    scale = stage.scale
    num_long = scale.num_documents // LONG_SHARE
    is_long = [True] * num_long + [False] * (scale.num_documents - num_long)
    random.Random(3).shuffle(is_long)
    texts = [stage.texts.text(scale.document_tokens if long else SHORT_TOKENS) for long in is_long]
    work = same(Work([text_body([text]) for text in texts], CONCURRENCY))
    spent = interleave([Case("traffic", stage.service, work), Case("bare", stage.bare, work)], scale.num_rounds)
    waits = stage.service.seconds("traffic")
    short = [s for s, long in zip(waits, is_long, strict=True) if not long]
    notes = [
        f"{scale.num_documents} requests, {num_long} of {scale.document_tokens} tokens, {CONCURRENCY} at once",
        f"short ones, last round: median {median(short) * 1e3:.0f} ms, p95 {quantile(short, 0.95) * 1e3:.0f} ms",
    ]
    words = "throughput of mixed traffic with 10 % long documents, over the bare forward on batches of 8"
    value = ratio(spent["bare"], spent["traffic"])
    bar = Bar("≥", 0.93)
    return Measured([Figure("traffic_over_bare", words, value, "×", bar, scale.num_rounds, notes, spent)])


PART = Part("traffic", "mixed traffic with 10 % long documents", run)
