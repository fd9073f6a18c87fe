"""One batch of texts of mixed lengths: the service against the limit, and against what else people use."""

from collections.abc import Mapping

from tests.bench.agreement import check_agreement, check_tokens
from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.remote import RemoteSide
from tests.bench.sides.side import Side
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

OTHERS = {
    "bare": ("text_over_bare", "the bare packed forward", Bar("≥", 0.92)),
    "sentence": ("text_over_sentence_transformers", "sentence-transformers `encode`", Bar("≥", 1.2)),
    "stock": ("text_over_transformers", "a transformers loop, padded batches of 32", None),
}


def run(stage: Stage) -> Measured:
    """Throughput of one request with many texts, over that of every other side."""
    texts = stage.texts.mixed(stage.scale.num_texts)
    sides: dict[str, Side | None] = {
        "service": stage.service, "bare": stage.bare, "sentence": stage.sentence, "stock": stage.stock,
    }  # fmt: skip
    there = {name: side for name, side in sides.items() if side is not None}
    work = same(Work([text_body(texts)]))
    spent = interleave([Case(name, side, work) for name, side in there.items()], stage.scale.num_rounds)
    num_tokens = stage.service.usage("service", "total_tokens")
    size = f"{len(texts)} texts, {num_tokens:,} tokens with their templates"
    rate = f"service {num_tokens / spread(spent['service']).median:,.0f} tokens/s"
    figures = [_figure(name, spent, [size, rate, *_about(name, there, num_tokens)]) for name in there]
    return Measured([one for one in figures if one] + [_missing(name) for name in OTHERS if name not in there])


def _about(name: str, there: Mapping[str, Side], num_tokens: int) -> list[str]:
    """Facts about a side for readers: if it is the same model, and its versions."""
    side, bare = there[name], there["bare"].vectors("bare")
    if isinstance(side, RemoteSide):
        check_tokens(name, num_tokens, side.num_tokens(name))
    versions = side.facts if name == "sentence" and isinstance(side, RemoteSide) else {}
    told = [", ".join(f"{package} {version}" for package, version in versions.items())] if versions else []
    return [check_agreement(name, side.vectors(name), bare), *told]


def _figure(name: str, spent: dict[str, list[float]], notes: list[str]) -> Figure | None:
    if name == "service":
        return None
    short, what, bar = OTHERS[name]
    value = ratio(spent[name], spent["service"])
    seconds = {one: spent[one] for one in ("service", name)}
    words = f"throughput of mixed texts over HTTP, over {what}"
    return Figure(short, words, value, "×", bar, len(spent[name]), notes, seconds)


def _missing(name: str) -> Figure:
    short, what, bar = OTHERS[name]
    return Figure(short, f"throughput of mixed texts over HTTP, over {what}", None, "×", bar, 0)


PART = Part("text", "texts of 16 to 512 tokens in one request", run)
