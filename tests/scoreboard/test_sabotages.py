"""Each line of the scoreboard can fail: every break finds what it breaks, and quick ones are tried here.

`make sabotage` tries all of them.
"""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.scoreboard.board import line_names, load_line
from tests.scoreboard.breaks.breaks import BREAKS, of_line
from tests.scoreboard.breaks.ways import Break
from tests.scoreboard.sabotage import goes_unnoticed

LINES = [load_line(name) for name in line_names()]
QUICK = ("cache_keys", "dependencies", "tensor_attacks")
SLOW_LINES = {"engine_kills": 3, "engine_hangs": 1, "sigterm": 2, "poisoned_pairs": 2}
"""Lines that are the slow tests of what they promise, at these sizes."""
CHECK = """
import importlib, sys
from tests.scoreboard.breaks.breaks import BREAKS
for one in BREAKS:
    module = importlib.import_module(one.module)
    before = dict(vars(module))
    one.change(module)
    vars(module).update(before)
"""


def test_every_break_finds_what_it_breaks() -> None:
    """In a process of its own, which is thrown away."""
    ran = subprocess.run([sys.executable, "-c", CHECK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_every_line_has_a_break(line) -> None:
    assert of_line(line.name)
    assert line.sizes[0] <= line.sizes[1]


def test_breaks_are_of_lines_and_have_names_of_their_own() -> None:
    assert {one.line for one in BREAKS} == {line.name for line in LINES}
    assert len({(one.line, one.name) for one in BREAKS}) == len(BREAKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_LINES)
def test_a_line_holds(name: str, tmp_path) -> None:
    result = load_line(name).run(SLOW_LINES[name], tmp_path)
    assert result.num_tried > 0
    assert not result.num_failed, result.notes


@pytest.mark.slow
@pytest.mark.parametrize("one", [one for one in BREAKS if one.line in QUICK], ids=lambda one: f"{one.line}: {one.name}")
def test_a_quick_line_notices_what_is_broken(one: Break) -> None:
    assert not goes_unnoticed(one)
