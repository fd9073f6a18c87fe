"""Medians and quartiles: against numbers worked out by hand, and against numpy."""

import numpy as np
import pytest

from tests.bench.figure import Bar, Figure
from tests.bench.spread import Spread, difference, ratio, spread


def test_quartiles_are_numpys() -> None:
    values = list(np.random.default_rng(1).exponential(size=37))
    found = spread(values)
    assert [found.low, found.median, found.high] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]).tolist())


def test_a_single_value_is_its_own_quartiles() -> None:
    assert spread([3.0]) == Spread(3.0, 3.0, 3.0)


def test_a_ratio_is_taken_round_by_round() -> None:
    """A slowdown of a whole round leaves it as it is; a ratio of medians would show it."""
    drift = [1.0, 5.0, 2.0, 9.0, 1.0]
    assert ratio([3 * d for d in drift], [2 * d for d in drift]) == Spread(1.5, 1.5, 1.5)
    assert difference([d + 0.25 for d in drift], drift) == Spread(0.25, 0.25, 0.25)
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize(("sign", "value", "verdict"), [
    ("≥", 2.0, "holds"), ("≥", 2.1, "fails"), ("≤", 2.0, "holds"), ("≤", 1.9, "fails"),
])  # fmt: skip
def test_a_bar_is_held_against_the_median(sign: str, value: float, verdict: str) -> None:
    assert Figure("f", "what", Spread(0, 2.0, 9), bar=Bar(sign, value)).verdict == verdict  # type: ignore[arg-type]


def test_what_was_not_measured_neither_holds_nor_fails() -> None:
    assert Figure("f", "what", None, bar=Bar("≥", 1)).verdict == "not measured"
