"""A rerank over HTTP: what the pairs of a query share of its beginning, and pages that are known."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from service.checkpoint.hub import CHECKPOINT
from tests.at_start.environ import customized_environ
from tests.bench.agreement import max_difference
from tests.bench.checkpoint import RERANKER, random_reranker
from tests.bench.figure import Bar, Figure, Measured, exactly
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.sides.service import Service
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.texts import TextMaker
from tests.bench.work import Work
from tests.conftest import image, image_part, text_part

QUERY_TOKENS = 200
NUM_DOCUMENTS, DOCUMENT_TOKENS = 64, (15, 54)
NUM_PAGES, PAGE_PX = 32, 96
QUERY_PX = 448
"""Of a query's image: 196 tokens."""
SEED = 700_000
TOLERANCE = 1e-4
"""Between scores of both sides: one computes a query's beginning once, the other for each of its pairs."""
UNSHARED = Path(__file__).parents[1] / "sides" / "unshared"
FAMILY = ("--family", "qwen3_vl_reranker")
COUNTERS = ("cenote_pictures_decoded_total", "cenote_vision_encodes_total")


def run(stage: Stage) -> Measured:
    """The speed with what is shared over that without, and what known pages cost."""
    checkpoint = RERANKER if stage.checkpoint == CHECKPOINT else random_reranker("small", stage.folder.parent)
    shared = stage.serve("rerank", *FAMILY, checkpoint=checkpoint)
    flags = (*FAMILY, "--prefix-cache-bytes", "0")
    apart = stage.serve("rerank_unshared", *flags, checkpoint=checkpoint, env=customized_environ(UNSHARED))
    texts = TextMaker(checkpoint)
    sharing = [_sharing(stage, texts, shared, apart, shown) for shown in (None, image(SEED - 1, QUERY_PX, QUERY_PX))]
    return Measured([*sharing, *_pages(stage, texts, shared)])


def short_documents(texts: TextMaker) -> list[str]:
    """`NUM_DOCUMENTS` new texts, of lengths from one end of `DOCUMENT_TOKENS` to the other."""
    least, most = DOCUMENT_TOKENS
    return [texts.text(least + n * (most - least) // (NUM_DOCUMENTS - 1)) for n in range(NUM_DOCUMENTS)]


def _sharing(stage: Stage, texts: TextMaker, shared: Service, apart: Service, shown: str | None) -> Figure:
    """With a query of text, or one that shows an image, whose features both sides have."""
    label = "text" if shown is None else "image"

    def query() -> dict[str, Any]:
        if shown is None:
            return {"text": texts.text(QUERY_TOKENS)}
        return {"content": [image_part(shown), text_part(texts.text(DOCUMENT_TOKENS[0]))]}

    @cache  # both sides of a round get the same pairs
    def of_round(_: int) -> Work:
        return Work([{"query": query(), "documents": short_documents(texts)}], path="/v2/rerank")

    sides = {f"shared {label}": shared, f"apart {label}": apart}
    (ours, theirs) = sides
    spent = interleave([Case(n, side, of_round, is_fresh=True) for n, side in sides.items()], stage.scale.num_rounds)
    difference = max_difference(shared.scores(ours), apart.scores(theirs))
    if difference > TOLERANCE:
        raise RuntimeError(f"pairs that share have other scores: {difference}")
    together, single = (spread(spent[name]).median * 1e3 for name in sides)
    notes = [f"{together:.0f} and {single:.0f} ms; scores differ by {difference:.1e} at most"]
    what = f"of {QUERY_TOKENS} tokens" if shown is None else f"with an image of {QUERY_PX} px"
    words = f"speed of one query {what} × {NUM_DOCUMENTS} short documents, over the same with nothing shared"
    name, bar = ("rerank_shared", Bar("≥", 1.8)) if shown is None else ("rerank_shared_image", None)
    return Figure(name, words, ratio(spent[theirs], spent[ours]), "×", bar, stage.scale.num_rounds, notes, spent)


def _pages(stage: Stage, texts: TextMaker, service: Service) -> Iterator[Figure]:
    numbers = iter(range(SEED, 2 * SEED))
    known = [{"image": image(next(numbers), PAGE_PX, PAGE_PX)} for _ in range(NUM_PAGES)]

    def of_known(_: int) -> Work:
        return Work([{"query": texts.text(QUERY_TOKENS), "documents": known}], path="/v2/rerank")

    def of_new(_: int) -> Work:
        pages = [{"image": image(next(numbers), PAGE_PX, PAGE_PX)} for _ in range(NUM_PAGES)]
        return Work([{"query": texts.text(QUERY_TOKENS), "documents": pages}], path="/v2/rerank")

    cases = [Case("known", service, of_known, is_fresh=True), Case("new", service, of_new, is_fresh=True)]
    spent = interleave(cases, stage.scale.num_rounds)
    words = f"speed of a query × {NUM_PAGES} known pages of {PAGE_PX} px, over as many that are new"
    value = ratio(spent["new"], spent["known"])
    yield Figure("rerank_known_pages", words, value, "×", None, stage.scale.num_rounds, [], spent)
    before = [service.server.metric(name) for name in COUNTERS]
    for turn in range(stage.scale.num_rounds):
        service.prepare("known", of_known(turn))
        service.run("known")
    for name, was in zip(COUNTERS, before, strict=True):
        what = "decoded" if "decoded" in name else "encoded"
        number = exactly(service.server.metric(name) - was)
        notes = [f"{stage.scale.num_rounds} queries × {NUM_PAGES} pages, by the counter {name}"]
        short = f"known_pages_{what}"
        yield Figure(short, f"times that a known page was {what} for another query", number, "", Bar("≤", 0), 1, notes)


PART = Part("rerank", "a query of 200 tokens and its candidates", run)
