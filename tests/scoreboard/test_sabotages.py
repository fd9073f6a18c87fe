"""Each line of the scoreboard can fail: every break still fits the product, and the quick ones are tried here.

`make sabotage` tries all of them.
"""

import pytest

from tests.conftest import ROOT
from tests.scoreboard.board import line_names, load_line
from tests.scoreboard.sabotage import goes_unnoticed

LINES = [load_line(name) for name in line_names()]
SABOTAGES = [pytest.param(one, id=f"{line.name}: {one.name}") for line in LINES for one in line.sabotages]
QUICK = ("cache_keys", "dependencies", "tensor_attacks")


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_the_text_to_break_stands_there_once(sabotage) -> None:
    assert (ROOT / sabotage.file).read_text().count(sabotage.old) == 1
    assert sabotage.old != sabotage.new


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_every_line_has_a_sabotage(line) -> None:
    assert line.sabotages
    assert line.ci <= line.nightly


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in LINES if line.name in QUICK], ids=lambda line: line.name)
def test_a_quick_line_notices_what_is_broken(line) -> None:
    for sabotage in line.sabotages:
        assert not goes_unnoticed(line, sabotage), sabotage.name
