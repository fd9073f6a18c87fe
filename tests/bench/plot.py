"""Curves as one SVG of small charts: no plotting library, and the same bytes for the same numbers.

It draws for light and dark pages: text and axes take the page's own color, series have colors that show on both.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape

from tests.bench.figure import Curve

WIDTH, HEIGHT = 380, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 46, 42
COLUMNS = 2
COLORS = ("#2a7fff", "#e06c00", "#1a9850", "#a050d0")
NUM_TICKS = 4
STYLE = (
    "text{fill:#7a8190;font:11px sans-serif}.title{font-weight:bold}"
    ".axis,.grid{stroke:#7a8190}.grid{stroke-opacity:.25}"
)


def draw(curves: Sequence[Curve]) -> str:
    """The whole image."""
    rows = math.ceil(len(curves) / COLUMNS)
    width, height = WIDTH * min(COLUMNS, len(curves)), HEIGHT * rows
    charts = (_placed(curve, n % COLUMNS * WIDTH, n // COLUMNS * HEIGHT) for n, curve in enumerate(curves))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *charts, "</svg>"]) + "\n"


def _placed(curve: Curve, x: int, y: int) -> str:
    return f'<g transform="translate({x} {y})">{"".join(Chart(curve).elements())}</g>'


class Chart:
    """One curve with its axes."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        points = [point for series in curve.series.values() for point in series]
        xs = [self._x_value(x) for x, _ in points]
        self._x_range = (min(xs) if curve.is_log else 0.0, max(xs))
        self._top = max(spread.high for _, spread in points) * 1.05 or 1.0

    def elements(self) -> Iterator[str]:
        """Title, grid, axes, then each series with its name."""
        yield f'<text class="title" x="6" y="16">{escape(self.curve.what)}</text>'
        yield from self._grid()
        for number, (name, points) in enumerate(self.curve.series.items()):
            color = COLORS[number % len(COLORS)]
            line = " ".join(f"{self._x(x):.1f},{self._y(spread.median):.1f}" for x, spread in points)
            yield f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.8"/>'
            for x, spread in points:
                yield self._whisker(x, spread.low, spread.high, color)
            place = LEFT + 8 + 110 * number
            yield f'<rect x="{place}" y="25" width="10" height="10" fill="{color}"/>'
            yield f'<text x="{place + 14}" y="34">{escape(name)}</text>'

    def _grid(self) -> Iterator[str]:
        bottom = HEIGHT - BOTTOM
        for value in nice_ticks(self._top):
            y = self._y(value)
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
        for x in self._x_ticks():
            yield f'<text x="{self._x(x):.1f}" y="{bottom + 15}" text-anchor="middle">{x:g}</text>'
        yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(self.curve.x_label)}</text>'
        yield f'<text x="6" y="34">{escape(self.curve.y_label)}</text>'

    def _x_ticks(self) -> Sequence[float]:
        if not self.curve.is_log:
            return nice_ticks(self._x_range[1])
        return sorted({x for points in self.curve.series.values() for x, _ in points})

    def _whisker(self, x: float, low: float, high: float, color: str) -> str:
        place = f'x1="{self._x(x):.1f}" x2="{self._x(x):.1f}" y1="{self._y(low):.1f}" y2="{self._y(high):.1f}"'
        return f'<line {place} stroke="{color}" stroke-width="3" stroke-linecap="round"/>'

    def _x_value(self, x: float) -> float:
        return math.log2(x) if self.curve.is_log else x

    def _x(self, x: float) -> float:
        low, high = self._x_range
        return LEFT + (self._x_value(x) - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    def _y(self, y: float) -> float:
        return HEIGHT - BOTTOM - y / self._top * (HEIGHT - TOP - BOTTOM)


def nice_ticks(top: float) -> list[float]:
    """A few round numbers from 0 up to `top`: steps of 1, 2, 2.5 or 5 times a power of ten."""
    rough = top / NUM_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    return [round(step * n, 10) for n in range(int(top / step) + 1)]
