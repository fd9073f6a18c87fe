"""A run as JSON for programs, and as a dated page in Markdown for people."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.figure import Figure

HEADER = ("figure", "what was measured", "median", "quartiles", "bar", "rounds", "")
ALIGN = ("---", "---", "---:", "---", "---", "---:", "---")


def write_json(path: Path, facts: Mapping[str, Any], figures: Sequence[Figure]) -> None:
    """Everything that was measured, each round of it."""
    told = [asdict(figure) | {"verdict": figure.verdict} for figure in figures]
    path.write_text(json.dumps({"facts": facts, "figures": told}, indent=1))


def told(figure: Figure) -> str:
    """A figure as one line on a terminal."""
    bar = f"{figure.bar.sign} {figure.bar.value:g}" if figure.bar else ""
    return f"{figure.verdict or '-':12s} {figure.name:32s} {_number(figure):>10s} {bar:8s} {'; '.join(figure.notes)}"


def render_page(facts: Mapping[str, Any], figures: Sequence[Figure]) -> str:
    """The part of `docs/speed.md` that a run writes.

    Args:
        facts: machine, versions, day and commit.
        figures: in the order of the table.
    """
    rows = [HEADER, ALIGN, *map(_cells, figures)]
    with_bars = [figure for figure in figures if figure.bar is not None and figure.value is not None]
    num_holding = sum(figure.verdict == "holds" for figure in with_bars)
    sections = [
        f"{num_holding} of {len(with_bars)} bars hold.",
        _lines(f"- {name.replace('_', ' ')}: {value}" for name, value in facts.items()),
        _lines(f"| {' | '.join(row)} |" for row in rows),
        _lines(f"- **{figure.name}**: {'; '.join(figure.notes)}" for figure in figures if figure.notes),
    ]
    return "\n\n".join(sections)


def replace_run(page: Path, written: str, marker: str) -> None:
    """Put a run's part into a page, between its marker and the next heading."""
    head, found, after = page.read_text().partition(marker)
    if not found:
        raise ValueError(f"{page} has no line {marker}")
    _, heading, rest = after.partition("\n## ")
    page.write_text(f"{head}{marker}\n\n{written}\n{heading}{rest}")


def _cells(figure: Figure) -> tuple[str, ...]:
    spread = figure.value
    quartiles = f"{_digits(spread.low)} to {_digits(spread.high)}" if spread and figure.num_rounds > 1 else ""
    bar = f"{figure.bar.sign} {figure.bar.value:g} {figure.unit}".strip() if figure.bar else ""
    verdict = f"**{figure.verdict}**" if figure.verdict == "fails" else figure.verdict
    return figure.name, figure.what, _number(figure), quartiles, bar, str(figure.num_rounds or ""), verdict


def _number(figure: Figure) -> str:
    return f"{_digits(figure.value.median)} {figure.unit}".strip() if figure.value else ""


def _digits(value: float) -> str:
    if value == int(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.2g}" if abs(value) < 0.01 else f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)
