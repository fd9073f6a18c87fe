"""Each line of the scoreboard can fail: every break finds what it breaks, and quick ones are tried here.

`make sabotage` tries all of them.
"""

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.scoreboard.board import line_names, load_line
from tests.scoreboard.breaks.breaks import BREAKS
from tests.scoreboard.breaks.ways import Break
from tests.scoreboard.sabotage import goes_unnoticed

LINES = [load_line(name) for name in line_names()]
QUICK = ("cache_keys", "dependencies", "tensor_attacks")
SLOW_LINES = {"engine_kills": 3, "engine_hangs": 1, "sigterm": 2, "poisoned_pairs": 2}
"""Lines that are the slow tests of what they promise, at these sizes."""
CHECK = """
import importlib, sys
from tests.scoreboard.breaks.breaks import BREAKS
for one in (broken for of_line in BREAKS.values() for broken in of_line):
    module = importlib.import_module(one.module)
    assert not hasattr(module, "main"), f"{one.module} is run, not imported, where it counts"
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
    names = [one.name for one in BREAKS[line.name]]
    assert len(set(names)) == len(names) > 0
    assert line.sizes[0] <= line.sizes[1]


def test_breaks_are_of_lines() -> None:
    assert BREAKS.keys() == {line.name for line in LINES}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_LINES)
def test_a_line_holds(name: str, tmp_path) -> None:
    result = load_line(name).run(SLOW_LINES[name], tmp_path)
    assert result.num_tried > 0
    assert not result.num_failed, result.notes


@pytest.mark.slow
@pytest.mark.parametrize(("line", "one"), [(line, one) for line in QUICK for one in BREAKS[line]])
def test_a_quick_line_notices_what_is_broken(line: str, one: Break) -> None:
    assert not goes_unnoticed(line, one)
