"""A straight line through points by least squares, and how much of them it explains."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import correlation, linear_regression


@dataclass(frozen=True, slots=True)
class LinearFit:
    """``y = slope · x + offset``.

    Attributes:
        slope: growth of y for each x.
        offset: y at 0.
        r2: coefficient of determination: 1 is a line, 0 nothing of one.
    """

    slope: float
    offset: float
    r2: float


def fit_line(x: Sequence[float], y: Sequence[float]) -> LinearFit:
    """The line through points, at least two of different x. Points that do not move in y are a line."""
    slope, offset = linear_regression(x, y)
    return LinearFit(slope, offset, correlation(x, y) ** 2 if len(set(y)) > 1 else 1.0)
