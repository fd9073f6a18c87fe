"""The programs that check the deploy folder, below `.deploy/`, where `make deploy-check` has put them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
INSTALLED = ROOT / ".deploy"
PROGRAMS = (INSTALLED / "tools" / "bin", INSTALLED / "prometheus" / "usr" / "bin", INSTALLED / "kubectl")


def program(name: str) -> str:
    """Where a program is, ours or the machine's; the test fails where it is not installed."""
    found = shutil.which(name, path=os.pathsep.join([*map(str, PROGRAMS), os.environ["PATH"]]))
    if found is None:
        pytest.fail(f"{name} is not below .deploy/: run this by `make deploy-check`", pytrace=False)
    return found


def run(name: str, *arguments: str | Path, cwd: Path = ROOT, stdin: str | None = None) -> str:
    """Run a program and return its standard output; where it fails, the test does, with all that it said."""
    command = [program(name), *map(str, arguments)]
    ran = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.fail(f"{name} {' '.join(command[1:])}\n{ran.stdout}{ran.stderr}", pytrace=False)
    return ran.stdout
