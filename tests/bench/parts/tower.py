"""The vision tower of Qwen3-VL-Embedding-2B alone: ours against transformers' own on the same pixels."""

import numpy as np

from tests.bench.agreement import max_difference
from tests.bench.figure import Bar, Figure, exactly, ratio, spread
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.stage import Stage
from tests.bench.work import Work, image_body
from tests.conftest import image

MAX_DIFFERENCE = 1e-5


def run(stage: Stage) -> list[Figure]:
    """Speed and difference. The stock tower is given its patches ready, ours starts from the pixels.

    In float32 a sum of large numbers is less exact: above 1 the difference is that of the largest feature.
    """
    px = stage.scale.tower_px
    work = same(Work([image_body([image(7, px, px, "PNG")])], kind="tower"))
    cases = [Case("own", stage.bare, work), Case("stock", stage.stock, work)]
    spent = interleave(cases, stage.scale.num_tower_rounds)
    (own,), (stock,) = stage.bare.vectors("own"), stage.stock.vectors("stock")
    own_ms, stock_ms = (spread(spent[name]).median * 1e3 for name in ("own", "stock"))
    notes = [f"{px} px; own {own_ms:.0f} ms, stock {stock_ms:.0f} ms"]
    what = "speed of our vision tower over transformers' on the same pixels, 2B shape"
    value = ratio(spent["stock"], spent["own"])
    speed = Figure("tower_speed", what, value, "×", Bar("≥", 1.3), len(spent["own"]), notes, spent)
    gap, largest = max_difference([own], [stock]), float(np.abs(stock).max())
    notes = [f"absolute {gap:.2g} between {own.size:,} numbers up to {largest:.3g}"]
    what = "largest difference of their features; relative to the largest of them where that exceeds 1"
    difference = exactly(gap / max(1.0, largest))
    return [speed, Figure("tower_difference", what, difference, "", Bar("≤", MAX_DIFFERENCE), 1, notes)]


PART = Part("tower", "our vision tower against the stock one (2B shape)", run, model="tower-2b")
