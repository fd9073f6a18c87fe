"""The server of `--against` on the same prompts: batches, long texts, single queries, an image under instructions.

Texts go as token ids, the service's own prompts, so that neither side's template counts; both sides have to report the
same number of tokens. Every round has new ones: another server may keep what prompts begin with, as the service does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from service.settings.settings import Settings
from tests.bench.agreement import check_tokens, least_cosine
from tests.bench.figure import Bar, Figure, ratio
from tests.bench.held import is_held
from tests.bench.parts.part import Part
from tests.bench.prompts import PromptReader
from tests.bench.rounds import Case, interleave
from tests.bench.sides.over_http import OverHttp
from tests.bench.stage import Stage
from tests.bench.work import Work, chat_body, ids_body, text_body
from tests.conftest import image

SEED = 400_000
QUERY_TOKENS = 8
NUM_AT_ONCE = 64
REQUEST_TOKENS = 128
"""Of the longest text of a request of `NUM_AT_ONCE`."""
NUM_ALONE = 8
"""Queries of a round, one after the other."""
IMAGES_AT_ONCE = 4
NUM_WARM = 2
BARS = {
    "float32": {"batch": 1.2, "request_64": 1.2, "alone": 1.1, "at_64": 1.2, "long": 1.2, "instructions": 1.2},
    "bfloat16": {"batch": 1.15, "request_64": 1.15, "alone": 1.1, "at_64": 1.15, "long": 1.15, "instructions": 1.2},
    "held": {"batch": 1.05, "request_64": 1.05, "alone": 1.1, "at_64": 1.1, "long": 1.25, "instructions": 1.05},
}
"""By dtype, or `held` to AVX2 in float32."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload that is compared.

    Attributes:
        name: of its figure.
        what: in words.
        make: new work, for one round of both sides.
    """

    name: str
    what: str
    make: Callable[[], Work]


def run(stage: Stage) -> list[Figure]:
    """Throughput of the service over the other server's, or that there is none."""
    service = stage.serve("peer", "--token-arrays", "accept") if stage.against else None
    return [_figure(stage, service, one) for one in _workloads(stage)]


def _workloads(stage: Stage) -> Iterator[Workload]:
    reader, texts, scale = PromptReader(Settings(model=str(stage.checkpoint))), stage.texts, stage.scale
    seeds = iter(range(SEED, 2 * SEED))

    def ids(texts: Sequence[str]) -> list[list[int]]:
        return [prompt.plan.ids for prompt in reader.prompts(text_body(texts))]

    def queries(num: int, concurrency: int) -> Work:
        return Work([ids_body([one]) for one in ids(texts.texts(num, QUERY_TOKENS))], concurrency)

    def instructed() -> Work:
        seen = image(next(seeds), scale.image_px, scale.image_px, "JPEG")
        purposes = [f"Represent the image for purpose {n}: {texts.text(6)}." for n in range(scale.num_instructions)]
        return Work([chat_body(seen, purpose) for purpose in purposes], IMAGES_AT_ONCE)

    mixed, length = f"{scale.num_texts} texts of 16 to 512 tokens in one request", scale.document_tokens
    yield Workload("batch", mixed, lambda: Work([ids_body(ids(texts.mixed(scale.num_texts)))]))
    many = f"{NUM_AT_ONCE} texts of 16 to {REQUEST_TOKENS} tokens in one request"
    yield Workload("request_64", many, lambda: Work([ids_body(ids(texts.mixed(NUM_AT_ONCE, REQUEST_TOKENS)))]))
    yield Workload("long", f"one text of {length} tokens", lambda: Work([ids_body(ids([texts.text(length)]))]))
    yield Workload("alone", "short queries, one after the other", lambda: queries(NUM_ALONE, 1))
    yield Workload("at_64", f"short queries, {NUM_AT_ONCE} at once", lambda: queries(2 * NUM_AT_ONCE, NUM_AT_ONCE))
    yield Workload("instructions", f"a new image × {scale.num_instructions} instructions", instructed)


def _figure(stage: Stage, service: OverHttp | None, one: Workload) -> Figure:
    what = f"throughput of {one.what}, over the server of `--against`"
    bars = BARS["held" if is_held() else stage.dtype]
    bar, rounds = Bar("≥", bars[one.name]), stage.scale.num_rounds
    if service is None or stage.against is None:
        return Figure(f"peer_{one.name}", what, None, "×", bar)
    of_round = cache(lambda _: one.make())  # both sides of a round get the same
    sides = {"service": service, "against": stage.against}
    spent = interleave([Case(name, side, of_round, True) for name, side in sides.items()], rounds, NUM_WARM, rests=True)
    ours, theirs = (side.usage(name, "prompt_tokens") for name, side in sides.items())
    check_tokens("against", ours, theirs)
    cosine = least_cosine(service.vectors("service"), stage.against.vectors("against"))
    notes = [f"{stage.dtype}; {ours:,} tokens on both sides; cosine at least {cosine:.6f}"]
    return Figure(f"peer_{one.name}", what, ratio(spent["against"], spent["service"]), "×", bar, rounds, notes, spent)


PART = Part("peer", "another server on the same prompts", run)
