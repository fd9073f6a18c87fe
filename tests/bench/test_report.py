"""Figures with their bars, held against numpy and numbers worked out by hand; the page and the JSON of a run."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.bench.__main__ import MARKERS
from tests.bench.figure import Bar, Figure, Spread, difference, exactly, ratio, spread
from tests.bench.report import render_page, replace_run, write_json
from tests.conftest import ROOT

FIGURES = [
    Figure("fast", "A over B", Spread(0.9, 1.0, 1.1), "×", Bar("≥", 0.95), 7, ["a note"], {"A": [1.0], "B": [1.0]}),
    Figure("slow", "C over D", Spread(0.1, 0.2, 0.3), "×", Bar("≥", 0.9), 7),
    Figure("absent", "E over F", None, "×", Bar("≥", 0.9), 0),
    Figure("told", "something", exactly(3), "ms"),
]


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


def test_the_page_has_a_row_for_each_figure_and_says_what_fails() -> None:
    page = render_page({"cpu": "a CPU", "num_cores": 2}, FIGURES)
    rows = {row.split("|")[1].strip(): row for row in page.splitlines() if row.startswith("| ")}
    assert "1 of 2 bars hold." in page
    assert "- num cores: 2" in page
    assert "holds" in rows["fast"]
    assert "**fails**" in rows["slow"]
    assert "not measured" in rows["absent"]
    assert len({row.count("|") for row in rows.values()}) == 1
    assert "- **fast**: a note" in page


def test_a_run_replaces_the_last_one_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text("# How\n\n<!-- run -->\n\nold\n\n## Held\n\n<!-- run held to avx2 -->\n\nold\n")
    replace_run(page, "new", MARKERS[None])
    assert page.read_text() == "# How\n\n<!-- run -->\n\nnew\n\n## Held\n\n<!-- run held to avx2 -->\n\nold\n"
    replace_run(page, "newer", MARKERS["avx2"])
    assert page.read_text() == "# How\n\n<!-- run -->\n\nnew\n\n## Held\n\n<!-- run held to avx2 -->\n\nnewer\n"
    page.write_text("no marker")
    with pytest.raises(ValueError, match="no line"):
        replace_run(page, "new", MARKERS[None])


def test_the_repositorys_page_can_be_written_into() -> None:
    page = (ROOT / "docs" / "speed.md").read_text()
    assert [page.count(marker) for marker in MARKERS.values()] == [1, 1]


def test_the_json_has_every_round(tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", {"cpu": "a CPU"}, FIGURES)
    written = json.loads((tmp_path / "result.json").read_text())
    assert written["facts"] == {"cpu": "a CPU"}
    assert written["figures"][0]["seconds"] == {"A": [1.0], "B": [1.0]}
    assert [one["verdict"] for one in written["figures"]] == ["holds", "fails", "not measured", ""]
