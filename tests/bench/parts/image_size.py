"""Cost of an unseen image by its size."""

from itertools import count

from tests.bench.figure import Curve, Measured
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave
from tests.bench.sides.side import Side
from tests.bench.spread import spread
from tests.bench.stage import Stage
from tests.bench.work import Work, image_body
from tests.conftest import image

SEED = 300_000
TOKEN_PIXELS = 32 * 32


def run(stage: Stage) -> Measured:
    """Seconds of one image, over HTTP from its file and bare from its pixels."""
    seeds = count(SEED)

    def case(name: str, side: Side, px: int) -> Case:
        def work(_: int) -> Work:
            return Work([image_body([image(next(seeds), px, px, "JPEG")])], kind="encode")

        return Case(f"{name} {px}", side, work, is_fresh=True)

    sides: dict[str, Side] = {"service": stage.service, "bare forward": stage.bare}
    cases = [case(name, side, px) for name, side in sides.items() for px in stage.scale.image_sides]
    spent = interleave(cases, stage.scale.curve_rounds)
    points = {
        name: [(px * px / TOKEN_PIXELS, spread(spent[f"{name} {px}"])) for px in stage.scale.image_sides]
        for name in sides
    }
    words = "seconds of one unseen image by its visual tokens"
    return Measured([], [Curve("image_size", words, "visual tokens", "s", points)])


PART = Part("image_size", "seconds by size of image", run)
