"""The vision tower alone: ours against transformers' own on the same pixels."""

from tests.bench.agreement import max_difference
from tests.bench.figure import Bar, Figure, Measured, exactly
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, picture_body
from tests.conftest import picture

MAX_DIFFERENCE = 1e-5


def run(stage: Stage) -> Measured:
    """Speed and difference; the stock tower is given its patches ready, ours starts from the pixels."""
    px = stage.scale.tower_px
    work = same(Work([picture_body([picture(7, px, px, "PNG")])], kind="tower"))
    spent = interleave([Case("own", stage.bare, work), Case("stock", stage.stock, work)], stage.scale.num_rounds)
    (own,), (stock,) = stage.bare.vectors("own"), stage.stock.vectors("stock")
    gap = max_difference([own], [stock])
    notes = [
        f"{px} px; own {spread(spent['own']).median * 1e3:.0f} ms, stock {spread(spent['stock']).median * 1e3:.0f} ms"
    ]
    words = "speed of our vision tower over transformers' on the same pixels"
    return Measured(
        [
            Figure(
                "tower_speed",
                words,
                ratio(spent["stock"], spent["own"]),
                "×",
                Bar("≥", 1.3),
                stage.scale.num_rounds,
                notes,
                spent,
            ),
            Figure(
                "tower_difference",
                "largest difference of their features",
                exactly(gap),
                "",
                Bar("≤", MAX_DIFFERENCE),
                1,
                [f"{own.size:,} numbers up to {abs(stock).max():.2f}"],
            ),
        ]
    )


PART = Part("tower", "our vision tower against the stock one", run)
