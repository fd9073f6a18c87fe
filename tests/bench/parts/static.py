"""Static embeddings over HTTP against model2vec in process, in requests as ingestion jobs send them."""

from functools import cache

from tests.bench.agreement import check_agreement, check_tokens
from tests.bench.checkpoint import static_rows
from tests.bench.figure import Bar, Figure, ratio, spread
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

LONGEST = 64
"""Tokens of a text: titles, questions and sentences."""
NUM_REQUESTS, CONCURRENCY = 40, 4
NUM_WARM = 2
BAR = Bar("≥", 0.8)


def run(stage: Stage) -> list[Figure]:
    """Throughput of requests of 256 texts, over that of model2vec with the same texts."""
    checkpoint = static_rows(stage.folder.parent)
    service, peer = stage.serve("static", checkpoint=checkpoint), stage.static_model(checkpoint)

    @cache  # both sides of a round get the same texts
    def requests(_: int) -> Work:
        texts = [stage.texts.mixed(stage.scale.num_per_request, LONGEST) for _ in range(NUM_REQUESTS)]
        return Work([text_body(one) for one in texts], CONCURRENCY)

    cases = [Case("service", service, requests, is_fresh=True), Case("peer", peer, requests, is_fresh=True)]
    rounds = stage.scale.num_rounds
    spent = interleave(cases, rounds, NUM_WARM)
    num_tokens = service.usage("service", "prompt_tokens")
    check_tokens("peer", num_tokens, peer.num_tokens("peer"))
    agreed = check_agreement("peer", peer.vectors("peer"), service.vectors("service"))
    num_texts = NUM_REQUESTS * stage.scale.num_per_request
    rates = ", ".join(f"{name} {num_texts / spread(spent[name]).median:,.0f}" for name in ("service", "peer"))
    notes = [
        f"texts a second: {rates}; {num_tokens:,} tokens on both sides",
        agreed,
        f"model2vec {peer.facts['model2vec']}",
    ]
    what = "throughput of short texts in requests of 256, four at once, on a static model, over model2vec in process"
    return [Figure("static", what, ratio(spent["peer"], spent["service"]), "×", BAR, rounds, notes, spent)]


PART = Part("static", "a static model of potion-base-8M's shape, against model2vec in process", run, model="minilm")
