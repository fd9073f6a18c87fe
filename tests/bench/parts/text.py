"""One batch of texts of mixed lengths: the service against sentence-transformers."""

from tests.bench.agreement import check_agreement, check_tokens
from tests.bench.figure import Bar, Figure, ratio, spread
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

NAME = "text_over_sentence_transformers"
WHAT = "throughput of mixed texts over HTTP, over sentence-transformers `encode`"
BAR = Bar("≥", 1.2)


def run(stage: Stage) -> list[Figure]:
    """Throughput of one request with many texts, over that of `encode`; no value where that is not installed."""
    if stage.sentence is None:
        return [Figure(NAME, WHAT, None, "×", BAR, 0)]
    texts = stage.texts.mixed(stage.scale.num_texts)
    sides = {"service": stage.service, "sentence": stage.sentence}
    work, num_rounds = same(Work([text_body(texts)])), stage.scale.num_rounds
    spent = interleave([Case(name, side, work) for name, side in sides.items()], num_rounds)
    num_tokens = stage.service.usage("service", "total_tokens")
    check_tokens("sentence", num_tokens, stage.sentence.num_tokens("sentence"))
    notes = [
        f"{len(texts)} texts, {num_tokens:,} tokens with their templates",
        f"service {num_tokens / spread(spent['service']).median:,.0f} tokens/s",
        check_agreement("sentence", stage.sentence.vectors("sentence"), stage.service.vectors("service")),
        ", ".join(f"{package} {version}" for package, version in stage.sentence.facts.items()),
    ]
    return [Figure(NAME, WHAT, ratio(spent["sentence"], spent["service"]), "×", BAR, num_rounds, notes, spent)]


PART = Part("text", "texts of 16 to 512 tokens in one request", run)
