"""The page and the JSON of a run."""

import json
from pathlib import Path

import pytest

from tests.bench.figure import Bar, Figure, exactly
from tests.bench.report import render_page, replace_run, write_json
from tests.bench.spread import Spread
from tests.conftest import ROOT

FIGURES = [
    Figure("fast", "A over B", Spread(0.9, 1.0, 1.1), "×", Bar("≥", 0.95), 7, ["a note"], {"A": [1.0], "B": [1.0]}),
    Figure("slow", "C over D", Spread(0.1, 0.2, 0.3), "×", Bar("≥", 0.9), 7),
    Figure("absent", "E over F", None, "×", Bar("≥", 0.9), 0),
    Figure("told", "something", exactly(3), "ms"),
]


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
    page.write_text("# How\n\n<!-- run -->\n\nold\n")
    replace_run(page, "new")
    assert page.read_text() == "# How\n\n<!-- run -->\n\nnew\n"
    page.write_text("no marker")
    with pytest.raises(ValueError, match="no line"):
        replace_run(page, "new")


def test_the_repositorys_page_can_be_written_into() -> None:
    assert (ROOT / "docs" / "speed.md").read_text().count("<!-- run -->") == 1


def test_the_json_has_every_round(tmp_path: Path) -> None:
    write_json(tmp_path / "result.json", {"cpu": "a CPU"}, FIGURES)
    written = json.loads((tmp_path / "result.json").read_text())
    assert written["facts"] == {"cpu": "a CPU"}
    assert written["figures"][0]["seconds"] == {"A": [1.0], "B": [1.0]}
    assert [one["verdict"] for one in written["figures"]] == ["holds", "fails", "not measured", ""]
