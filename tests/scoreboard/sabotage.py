"""Runs a line on a product that is broken on purpose: one that does not fail then proves nothing.

The break is made in each process of the product when it loads the module (`breaks/`): no source is changed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT
from tests.scoreboard.breaks.ways import Break


def goes_unnoticed(line: str, broken: Break) -> str:
    """Run the line; what it said when it failed to fail, else nothing."""
    with tempfile.TemporaryDirectory(prefix="sabotage-") as place:
        (Path(place) / "broken_by.py").write_text(f"NAME = {f'{line}: {broken.name}'!r}\n")
        path = (place, ROOT / "tests" / "at_start", ROOT, ROOT / "kernels")
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
        board = [sys.executable, "-m", "tests.scoreboard", "--only", line, "--size", str(broken.size)]
        board += ["--folder", place]
        ended = subprocess.run(board, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        is_noticed = ended.returncode == 1 and f" {line} " in ended.stdout and "FAIL" in ended.stdout
        return "" if is_noticed else ended.stdout + ended.stderr
