"""Results of measurements: quantities that were measured several times, and figures with their bars."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Spread:
    """Quartiles; the second is the median."""

    low: float
    median: float
    high: float

    def scaled(self, factor: float) -> "Spread":
        """The same in another unit."""
        return Spread(self.low * factor, self.median * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar that a figure has to reach."""

    sign: Literal["≥", "≤"]
    value: float

    def holds(self, value: float) -> bool:
        """True if a value reaches it."""
        return value >= self.value if self.sign == "≥" else value <= self.value


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its bar.

    Attributes:
        name: short and unique.
        what: what was measured, in words.
        value: the number with its quartiles; None where it was not measured.
        unit: of the number; empty for a plain count.
        bar: what it has to reach; None where it only informs.
        num_rounds: how often it was measured.
        notes: what else a reader should know.
        seconds: what each side took in each round.
    """

    name: str
    what: str
    value: Spread | None
    unit: str = ""
    bar: Bar | None = None
    num_rounds: int = 1
    notes: Sequence[str] = ()
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def verdict(self) -> Literal["holds", "fails", "not measured", ""]:
        """The verdict of its bar on its median."""
        if self.value is None:
            return "not measured"
        if self.bar is None:
            return ""
        return "holds" if self.bar.holds(self.value.median) else "fails"


def exactly(value: float) -> Spread:
    """A number that was counted or that is a maximum."""
    return Spread(value, value, value)


def spread(values: Sequence[float]) -> Spread:
    """Quartiles of values, interpolated between them; a single value is all three."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


def ratio(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Quartiles of the ratio, round by round: what slows both sides of a round falls out.

    Args:
        above: of each round.
        below: of the same rounds.
    """
    return spread([one / other for one, other in zip(above, below, strict=True)])


def difference(one: Sequence[float], other: Sequence[float]) -> Spread:
    """Quartiles of `one - other`, round by round."""
    return spread([a - b for a, b in zip(one, other, strict=True)])
