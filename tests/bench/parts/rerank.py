"""A rerank over HTTP of pages that are known, for one query after the other."""

from service.checkpoint.hub import CHECKPOINT
from tests.bench.checkpoint import RERANKER, random_reranker
from tests.bench.figure import Figure, ratio
from tests.bench.parts.instructions import counted
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.stage import Stage
from tests.bench.texts import TextMaker
from tests.bench.work import Work
from tests.conftest import image

QUERY_TOKENS = 200
NUM_PAGES, PAGE_PX = 32, 96
SEED = 700_000
FAMILY = ("--family", "qwen3_vl_reranker")


def run(stage: Stage) -> list[Figure]:
    """The speed with known pages over that with new ones; with the counters as witnesses."""
    checkpoint = RERANKER if stage.checkpoint == CHECKPOINT else random_reranker("small", stage.folder.parent)
    service, texts = stage.serve("rerank", *FAMILY, checkpoint=checkpoint), TextMaker(checkpoint)
    numbers, num_rounds = iter(range(SEED, 2 * SEED)), stage.scale.num_rounds

    def pages() -> list[dict[str, str]]:
        return [{"image": image(next(numbers), PAGE_PX, PAGE_PX)} for _ in range(NUM_PAGES)]

    def asked(documents: list[dict[str, str]]) -> Work:
        return Work([{"query": texts.text(QUERY_TOKENS), "documents": documents}], path="/v2/rerank")

    known = pages()
    cases = [
        Case("known", service, lambda _: asked(known), is_fresh=True),
        Case("new", service, lambda _: asked(pages()), is_fresh=True),
    ]
    spent = interleave(cases, num_rounds)
    words = f"speed of a query × {NUM_PAGES} known pages of {PAGE_PX} px, over as many that are new"
    saved = Figure("rerank_known_pages", words, ratio(spent["new"], spent["known"]), "×", None, num_rounds, [], spent)
    service.prepare("other", asked(known))
    again = {f"known_pages_{what}": f"times that a known page was {what} for another query"
             for what in ("decoded", "encoded")}  # fmt: skip
    return [saved, *counted(service, "other", again, num_rounds, f"{NUM_PAGES} pages")]


PART = Part("rerank", "a query of 200 tokens and its pages", run)
