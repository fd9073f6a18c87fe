"""Results of measurements: figures with their bars."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.bench.spread import Spread


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
