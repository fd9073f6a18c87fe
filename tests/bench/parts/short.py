"""Single short queries: what the service adds to one, and how well many at once are batched."""

from tests.bench.figure import Bar, Figure, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.spread import difference, quantile, ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

QUERY_TOKENS = 8
REQUESTS_EACH = 2
"""Requests in a round for each that may be under way."""
NUM_WARM = 5
BARS = {16: Bar("≥", 0.9), 64: Bar("≥", 0.93)}
"""By how many are under way."""


def run(stage: Stage) -> Measured:
    """Added milliseconds at concurrency 1, then throughput over the bare forward on batches of the same size."""
    return Measured([_added(stage), *(_throughput(stage, level) for level in stage.scale.concurrency_levels)])


def _cases(stage: Stage, num: int, concurrency: int) -> list[Case]:
    def work(_: int) -> Work:
        bodies = [text_body([text]) for text in stage.texts.texts(num, QUERY_TOKENS)]
        return Work(bodies, concurrency)

    works: dict[int, Work] = {}

    def of_round(turn: int) -> Work:  # both sides of a round get the same queries
        return works.setdefault(turn, work(turn))

    return [Case("service", stage.service, of_round, True), Case("bare", stage.bare, of_round, True)]


def _added(stage: Stage) -> Figure:
    spent = interleave(_cases(stage, 1, 1), stage.scale.num_short_rounds, NUM_WARM)
    service, bare = spread(spent["service"]), spread(spent["bare"])
    notes = [f"service {service.median * 1e3:.1f} ms, bare forward {bare.median * 1e3:.1f} ms"]
    words = "what the service adds to one short query, alone"
    added = difference(spent["service"], spent["bare"]).scaled(1e3)
    rounds = stage.scale.num_short_rounds
    return Figure("short_added_ms", words, added, "ms", Bar("≤", 4.0), rounds, notes, spent)


def _throughput(stage: Stage, concurrency: int) -> Figure:
    num = concurrency * REQUESTS_EACH
    spent = interleave(_cases(stage, num, concurrency), stage.scale.num_brief_rounds)
    waits = stage.service.seconds("service")
    notes = [
        f"service {num / spread(spent['service']).median:,.0f} queries/s",
        f"last round: median {quantile(waits, 0.5) * 1e3:.0f} ms, p95 {quantile(waits, 0.95) * 1e3:.0f} ms",
    ]
    words = f"throughput of short queries, {concurrency} at once, over the bare forward on batches of {concurrency}"
    value = ratio(spent["bare"], spent["service"])
    bar = BARS.get(concurrency)
    return Figure(f"short_at_{concurrency}", words, value, "×", bar, stage.scale.num_brief_rounds, notes, spent)


PART = Part("short", "single short queries at several concurrencies", run)
