"""One batch of texts of mixed lengths: the service against what else people use."""

from tests.bench.agreement import check_agreement, check_tokens
from tests.bench.figure import Bar, Figure
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.side import Side
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

PEERS = {
    "sentence": ("text_over_sentence_transformers", "sentence-transformers `encode`", Bar("≥", 1.2)),
    "stock": ("text_over_transformers", "a transformers loop, padded batches of 32", None),
}


def run(stage: Stage) -> list[Figure]:
    """Throughput of one request with many texts, over that of every peer; no value for one that is not installed."""
    texts = stage.texts.mixed(stage.scale.num_texts)
    peers = {name: side for name, side in (("sentence", stage.sentence), ("stock", stage.stock)) if side is not None}
    sides: dict[str, Side] = {"service": stage.service, **peers}
    work = same(Work([text_body(texts)]))
    spent = interleave([Case(name, side, work) for name, side in sides.items()], stage.scale.num_rounds)
    num_tokens, ours = stage.service.usage("service", "total_tokens"), stage.service.vectors("service")
    told = [
        f"{len(texts)} texts, {num_tokens:,} tokens with their templates",
        f"service {num_tokens / spread(spent['service']).median:,.0f} tokens/s",
    ]
    figures = []
    for name, (short, what, bar) in PEERS.items():
        words = f"throughput of mixed texts over HTTP, over {what}"
        if name not in peers:
            figures.append(Figure(short, words, None, "×", bar, 0))
            continue
        check_tokens(name, num_tokens, peers[name].num_tokens(name))
        notes = [*told, check_agreement(name, peers[name].vectors(name), ours)]
        notes += [f"{package} {version}" for package, version in peers[name].facts.items() if name == "sentence"]
        both = {one: spent[one] for one in ("service", name)}
        value = ratio(spent[name], spent["service"])
        figures.append(Figure(short, words, value, "×", bar, len(spent[name]), notes, both))
    return figures


PART = Part("text", "texts of 16 to 512 tokens in one request", run)
