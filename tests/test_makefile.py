"""`make serve` says what it does while it installs: a line a step, and pip's own progress at a terminal."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYTHON = """#!/bin/sh
case "$*" in
  --version) echo Python 3.11.9 ;;
  "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  *) echo "ran $*" ;;
esac
"""
"""Stands for the program that makes an environment, and for the one in it, which would install for minutes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels").mkdir()
    for name in ("Makefile", "pyproject.toml", "kernels/build_native.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def install(folder: Path, stdout: int) -> None:
    command = ["make", ".venv/.serve", "PYTHON=./python"]
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    # Within another make, this one would say where it is.
    subprocess.run(command, cwd=folder, stdout=stdout, env=own, check=True)


def lines(reader: int) -> list[str]:
    with os.fdopen(reader) as file:
        return file.read().splitlines()


def test_in_a_log_there_is_a_line_for_each_step(folder: Path) -> None:
    reader, writer = os.pipe()
    install(folder, writer)
    os.close(writer)
    made, installing, ran = lines(reader)
    assert made == "Making .venv by Python 3.11.9 ..."
    assert installing.startswith("Installing Cenote and the packages that it needs into .venv: ")
    assert ran.startswith("ran -m pip install --quiet")


def test_at_a_terminal_pip_shows_its_own_progress(folder: Path) -> None:
    terminal, writer = pty.openpty()
    install(folder, writer)
    told = os.read(terminal, 10_000).decode()
    assert "ran -m pip install --disable-pip-version-check --editable .[text]" in told
    assert "--quiet" not in told
    install(folder, writer)
    assert "ran" not in os.read(terminal, 10_000).decode(), "installed once"
    os.close(writer)
    os.close(terminal)
