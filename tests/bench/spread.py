"""A quantity that was measured several times: its median, and the quartiles that say how sure it is."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Quartiles; the second is the median."""

    low: float
    median: float
    high: float

    def scaled(self, factor: float) -> "Spread":
        """The same in another unit."""
        return Spread(self.low * factor, self.median * factor, self.high * factor)


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
