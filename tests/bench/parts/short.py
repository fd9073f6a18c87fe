"""Single short queries: what the service adds to one."""

from functools import cache

from tests.bench.figure import Bar, Figure, difference, spread
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

QUERY_TOKENS = 8
NUM_WARM = 5


def run(stage: Stage) -> list[Figure]:
    """Added milliseconds, one query at a time."""

    @cache  # both sides of a round get the same query
    def of_round(_: int) -> Work:
        return Work([text_body([stage.texts.text(QUERY_TOKENS)])])

    sides, num_rounds = {"service": stage.service, "bare": stage.bare}, stage.scale.num_short_rounds
    spent = interleave(
        [Case(name, side, of_round, is_fresh=True) for name, side in sides.items()], num_rounds, NUM_WARM
    )
    service_ms, bare_ms = (spread(spent[name]).median * 1e3 for name in sides)
    notes = [f"service {service_ms:.1f} ms, bare forward {bare_ms:.1f} ms"]
    added = difference(spent["service"], spent["bare"]).scaled(1e3)
    words = "what the service adds to one short query, alone"
    return [Figure("short_added_ms", words, added, "ms", Bar("≤", 4.0), num_rounds, notes, spent)]


PART = Part("short", "single short queries", run)
