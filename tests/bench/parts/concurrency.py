"""Throughput by the number of requests under way at once."""

from tests.bench.figure import Curve, Measured
from tests.bench.parts.part import Part
from tests.bench.points import measure_points
from tests.bench.sides.side import Side
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

QUERY_TOKENS = 8
REQUESTS_EACH = 2


def run(stage: Stage) -> Measured:
    """Queries per second of the service, and of the bare forward on batches of that size."""

    def work(num: int) -> Work:
        return Work([text_body([text]) for text in stage.texts.texts(num * REQUESTS_EACH, QUERY_TOKENS)], num)

    works = {float(num): work(num) for num in stage.scale.concurrencies}
    sides: dict[str, Side] = {"service": stage.service, "bare forward": stage.bare}
    points = measure_points(sides, works, stage.scale.curve_rounds, lambda num, seconds: num * REQUESTS_EACH / seconds)
    words = "throughput of short queries by how many are under way"
    return Measured([], [Curve("concurrency", words, "queries at once", "queries/s", points, is_log=True)])


PART = Part("concurrency", "throughput by requests at once", run)
