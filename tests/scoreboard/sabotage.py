"""Breaks a copy of the tree on purpose and runs a line there: one that does not fail then proves nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT
from tests.scoreboard.line import Line, Sabotage

COPIED = ("schemas", "service", "kernels", "tests", "openapi.json", "openapi-sdk.json", "pyproject.toml", "docs")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules", ".*")


def goes_unnoticed(line: Line, sabotage: Sabotage) -> str:
    """Run the line on the broken copy; what it said when it failed to fail, else nothing."""
    with tempfile.TemporaryDirectory(prefix="sabotage-") as place:
        tree = Path(place)
        _copy(tree)
        _break(tree / sabotage.file, sabotage)
        board = [sys.executable, "-m", "tests.scoreboard", "--only", line.name, "--size", str(sabotage.size)]
        environ = os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'kernels'}"}
        ended = subprocess.run(board, cwd=tree, env=environ, capture_output=True, text=True, check=False)
        is_noticed = ended.returncode == 1 and f"FAIL {line.number:2d} {line.name}" in ended.stdout
        return "" if is_noticed else ended.stdout + ended.stderr


def _copy(tree: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, tree / name)


def _break(file: Path, sabotage: Sabotage) -> None:
    text = file.read_text()
    found = text.count(sabotage.old)
    assert found == 1, f"{sabotage.name}: {sabotage.file} holds the text to break {found} times, not once"
    file.write_text(text.replace(sabotage.old, sabotage.new))
