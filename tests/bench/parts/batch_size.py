"""Throughput by the number of texts in a request."""

from tests.bench.figure import Curve, Measured
from tests.bench.parts.part import Part
from tests.bench.points import measure_points
from tests.bench.sides.side import Side
from tests.bench.stage import Stage
from tests.bench.work import Work, text_body

TOKENS_EACH = 48


def run(stage: Stage) -> Measured:
    """Texts per second of the service and of the bare forward."""
    works = {float(n): Work([text_body(stage.texts.texts(n, TOKENS_EACH))]) for n in stage.scale.batch_sizes}
    sides: dict[str, Side] = {"service": stage.service, "bare forward": stage.bare}
    points = measure_points(sides, works, stage.scale.curve_rounds, lambda num, seconds: num / seconds)
    words = f"throughput by texts of {TOKENS_EACH} tokens in one request"
    return Measured([], [Curve("batch_size", words, "texts in a request", "texts/s", points, is_log=True)])


PART = Part("batch_size", "throughput by texts in a request", run)
