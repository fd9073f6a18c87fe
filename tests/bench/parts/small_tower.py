"""The same comparison of towers on the run's own checkpoint, where attention is most of it. No bar."""

from tests.bench.figure import Measured
from tests.bench.parts.part import Part
from tests.bench.parts.tower import compare_towers, speed
from tests.bench.stage import Stage


def run(stage: Stage) -> Measured:
    """Speed."""
    spent, *_ = compare_towers(stage, stage.scale.num_rounds)
    return Measured([speed("small_tower_speed", "the same, on this run's checkpoint", stage, spent)])


PART = Part("small_tower", "our vision tower against the stock one", run)
