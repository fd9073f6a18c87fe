"""Other systems: what is missing there is neither installed nor imported, and Windows gets a sentence."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import CHECKPOINT, ROOT, LiveServer

REQUIRED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_windows_does_not_ask_for_uvloop() -> None:
    (uvloop,) = [one for one in map(Requirement, REQUIRED) if one.name == "uvloop"]
    assert uvloop.marker is not None
    assert [uvloop.marker.evaluate({"sys_platform": system}) for system in ("win32", "linux", "darwin")] == [
        False,
        True,
        True,
    ]


def test_windows_is_told_where_it_runs() -> None:
    hidden = "sys.modules |= dict.fromkeys(('uvloop', 'fcntl', 'resource'))"
    ran = run(f"import sys; sys.platform = 'win32'; {hidden}; from service.__main__ import main; main()")
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), ran.stderr
    assert "got Windows, expected Linux or macOS" in ran.stderr


def test_the_command_is_the_one_that_tells() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"cenote": "service.__main__:main"}


@pytest.mark.slow  # a server of its own
def test_without_uvloop_the_loop_is_asyncios(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    (tmp_path / "uvloop.py").write_text("raise ImportError\n")
    server = start_server("--model", str(CHECKPOINT), env={"PYTHONPATH": str(tmp_path)}).wait_until_ready()
    texts = [f"a door, no. {number}" for number in range(300)]
    assert server.vectors({"input": texts}).shape[0] == len(texts)
    assert "uvloop" not in Path(f"/proc/{server.process.pid}/maps").read_text()
    assert server.stop() == 0
