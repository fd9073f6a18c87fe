"""The vision tower of Qwen3-VL-Embedding-2B alone: ours against transformers' own on the same pixels."""

import numpy as np
from numpy.typing import NDArray

from tests.bench.agreement import max_difference
from tests.bench.figure import Bar, Figure, Measured, exactly
from tests.bench.parts.part import Part
from tests.bench.rounds import Case, interleave, same
from tests.bench.spread import ratio, spread
from tests.bench.stage import Stage
from tests.bench.work import Work, image_body
from tests.conftest import image

MAX_DIFFERENCE = 1e-5

Features = NDArray[np.float32]


def run(stage: Stage) -> Measured:
    """Speed and difference, which have bars."""
    spent, own, stock = compare_towers(stage, stage.scale.num_tower_rounds)
    what = "speed of our vision tower over transformers' on the same pixels, 2B shape"
    return Measured([speed("tower_speed", what, stage, spent, Bar("≥", 1.3)), _difference(own, stock)])


def compare_towers(stage: Stage, num_rounds: int) -> tuple[dict[str, list[float]], Features, Features]:
    """Seconds of both and their features; the stock tower is given its patches ready, ours starts from the pixels."""
    px = stage.scale.tower_px
    work = same(Work([image_body([image(7, px, px, "PNG")])], kind="tower"))
    spent = interleave([Case("own", stage.bare, work), Case("stock", stage.stock, work)], num_rounds)
    (own,), (stock,) = stage.bare.vectors("own"), stage.stock.vectors("stock")
    return spent, own, stock


def speed(name: str, what: str, stage: Stage, spent: dict[str, list[float]], bar: Bar | None = None) -> Figure:
    """Ratio of our speed to the other's."""
    own_ms, stock_ms = (spread(spent[name]).median * 1e3 for name in ("own", "stock"))
    notes = [f"{stage.scale.tower_px} px; own {own_ms:.0f} ms, stock {stock_ms:.0f} ms"]
    value = ratio(spent["stock"], spent["own"])
    return Figure(name, what, value, "×", bar, len(spent["own"]), notes, spent)


def _difference(own: Features, stock: Features) -> Figure:
    """In float32 a sum of large numbers is less exact: above 1 the difference is that of the largest feature."""
    gap, largest = max_difference([own], [stock]), float(np.abs(stock).max())
    notes = [f"absolute {gap:.2g} between {own.size:,} numbers up to {largest:.3g}"]
    words = "largest difference of their features; relative to the largest of them where that exceeds 1"
    value = exactly(gap / max(1.0, largest))
    return Figure("tower_difference", words, value, "", Bar("≤", MAX_DIFFERENCE), 1, notes)


PART = Part("tower", "our vision tower against the stock one (2B shape)", run, model="tower-2b")
