"""The page, the JSON and the plot of a run."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.bench.figure import Bar, Curve, Figure, exactly
from tests.bench.plot import draw, nice_ticks
from tests.bench.report import render_page, replace_run, write_json
from tests.bench.spread import Spread
from tests.conftest import ROOT

FIGURES = [
    Figure("fast", "A over B", Spread(0.9, 1.0, 1.1), "×", Bar("≥", 0.95), 7, ["a note"], {"A": [1.0], "B": [1.0]}),
    Figure("slow", "C over D", Spread(0.1, 0.2, 0.3), "×", Bar("≥", 0.9), 7),
    Figure("absent", "E over F", None, "×", Bar("≥", 0.9), 0),
    Figure("told", "something", exactly(3), "ms"),
]
CURVES = [
    Curve(
        "up", "a <curve>", "x", "y", {"a & b": [(1, exactly(1)), (2, Spread(1, 2, 3)), (4, exactly(4))]}, is_log=True
    ),
    Curve("flat", "another", "x", "y", {"a": [(0, exactly(5))], "b": [(1, exactly(0))]}),
]


def test_the_page_has_a_row_for_each_figure_and_says_what_fails() -> None:
    page = render_page({"cpu": "a CPU", "num_cores": 2}, FIGURES, CURVES, "speed.svg", "answers")
    rows = {row.split("|")[1].strip(): row for row in page.splitlines() if row.startswith("| ")}
    assert "1 of 2 bars hold." in page
    assert "- num cores: 2" in page
    assert "holds" in rows["fast"]
    assert "**fails**" in rows["slow"]
    assert all("not measured" in rows[name] for name in ("absent", "gpu_text", "gpu_kernels", "gpu_instructions"))
    assert len({row.count("|") for row in rows.values()}) == 1
    assert "- **fast**: a note" in page
    assert "![curves](speed.svg)" in page


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
    write_json(tmp_path / "result.json", {"cpu": "a CPU"}, FIGURES, CURVES)
    written = json.loads((tmp_path / "result.json").read_text())
    assert written["facts"] == {"cpu": "a CPU"}
    assert written["figures"][0]["seconds"] == {"A": [1.0], "B": [1.0]}
    assert [one["verdict"] for one in written["figures"]] == ["holds", "fails", "not measured", ""]
    assert written["curves"][0]["series"]["a & b"][1] == [2, {"low": 1, "median": 2, "high": 3}]


def test_the_plot_is_xml_with_every_point_inside_its_chart() -> None:
    root = ET.fromstring(draw(CURVES))
    charts = root.findall("{*}g")
    lines = root.findall(".//{*}polyline")
    assert len(charts) == 2
    assert [len(line.attrib["points"].split()) for line in lines] == [3, 1, 1]
    numbers = [float(number) for line in lines for number in re.split("[ ,]", line.attrib["points"])]
    assert all(0 <= number <= 380 for number in numbers)
    assert draw(CURVES) == draw(CURVES)


@pytest.mark.parametrize(
    ("top", "ticks"), [(4, [0, 1, 2, 3, 4]), (0.9, [0, 0.25, 0.5, 0.75]), (8192, [0, 2500, 5000, 7500])]
)
def test_ticks_are_round(top: float, ticks: list[float]) -> None:
    assert nice_ticks(top) == ticks
