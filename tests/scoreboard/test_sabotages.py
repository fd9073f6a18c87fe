"""Each line of the scoreboard can fail: every break still fits the product, and the quick ones are tried here.

`make sabotage` tries all of them.
"""

import ast
import builtins

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


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_a_break_names_only_what_its_file_knows(sabotage) -> None:
    """One that cannot run would be noticed for the wrong reason."""
    if sabotage.file.endswith(".py"):
        whole = (ROOT / sabotage.file).read_text()
        broken = whole.replace(sabotage.old, sabotage.new)
        assert names(broken, ast.Load) <= names(whole, ast.Load) | names(broken, ast.Store) | set(dir(builtins))


def names(source: str, context: type[ast.expr_context]) -> set[str]:
    """Names that are read; or names that are bound, imported or defined."""
    nodes = list(ast.walk(ast.parse(source)))
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}
    if context is ast.Store:
        found |= {(node.asname or node.name).partition(".")[0] for node in nodes if isinstance(node, ast.alias)}
        found |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        found |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_every_line_has_a_sabotage(line) -> None:
    assert line.sabotages
    assert line.ci <= line.nightly


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in LINES if line.name in QUICK], ids=lambda line: line.name)
def test_a_quick_line_notices_what_is_broken(line) -> None:
    for sabotage in line.sabotages:
        assert not goes_unnoticed(line, sabotage), sabotage.name
