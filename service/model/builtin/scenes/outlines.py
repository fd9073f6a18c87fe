"""Outlines of the six shapes, as polygons that fit the unit circle around (0, 0)."""

import math
from functools import cache
from typing import Final, TypeAlias

Polygon: TypeAlias = tuple[tuple[float, float], ...]

SHAPES: Final = ("circle", "square", "triangle", "star", "cross", "ring")
"""Names of the shapes, in the order in which captions were designed; the order carries no meaning."""

_CIRCLE_POINTS: Final = 48
_STAR_INNER_RADIUS: Final = 0.42
_CROSS_HALF_WIDTH: Final = 0.3
_RING_HOLE_RADIUS: Final = 0.55


def _regular(points: int, radius: float = 1.0, start: float = -math.pi / 2) -> Polygon:
    angles = (start + 2 * math.pi * index / points for index in range(points))
    return tuple((radius * math.cos(angle), radius * math.sin(angle)) for angle in angles)


def _star() -> Polygon:
    outer, inner = _regular(5), _regular(5, _STAR_INNER_RADIUS, -math.pi / 2 + math.pi / 5)
    return tuple(point for pair in zip(outer, inner, strict=True) for point in pair)


def _cross() -> Polygon:
    arm, end = _CROSS_HALF_WIDTH, 0.92
    quarter: Polygon = ((arm, -end), (arm, -arm), (end, -arm))
    turned: list[Polygon] = [quarter]
    for _ in range(3):
        turned.append(tuple((-y, x) for x, y in turned[-1]))
    return tuple(point for corner in turned for point in corner)


@cache
def outline(shape: str) -> tuple[Polygon, Polygon | None]:
    """The polygon of a shape, y pointing down, and its hole.

    Args:
        shape: One of `SHAPES`.

    Returns:
        Outer polygon and hole; the hole is None for every shape but the ring.
    """
    if shape == "ring":
        return _regular(_CIRCLE_POINTS), _regular(_CIRCLE_POINTS, _RING_HOLE_RADIUS)
    outers = {
        "circle": _regular(_CIRCLE_POINTS, 0.96),
        "square": _regular(4, 1.12, math.pi / 4),
        "triangle": _regular(3, 1.04),
        "star": _star(),
        "cross": _cross(),
    }
    return outers[shape], None
