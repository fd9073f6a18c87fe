"""How a run ends: one exit code for each end, and nothing said of a run that never began."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, LiveServer, plain_environ
from tests.ingest.program import Program

COMMAND = (sys.executable, "-m", "service", "ingest")


def ran(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("nowhere", "--to", "out.jsonl"), "SOURCE nowhere"),
        (("-", "--to", "out.xyz"), "--to out.xyz"),
        (("-", "--to", "out.jsonl", "--server", "localhost:8000"), "--server localhost:8000"),
        (("-", "--to", "out.jsonl", "--server", "http://h", "--api-key-env", "NO_SUCH"), "--api-key-env NO_SUCH"),
        (("-", "--to", "out.jsonl", "--batch-inputs", "0"), "--batch-inputs"),
        (("-",), "--to"),
    ],
)
def test_a_wrong_command_line_is_2_and_says_which_argument(arguments: tuple[str, ...], named: str) -> None:
    ended = ran(*arguments)
    assert (ended.returncode, named in ended.stderr) == (2, True), ended.stderr
    assert "vectors written" not in ended.stderr


def test_a_run_that_never_began_sums_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":1,"text":"a"}\n')
    to = ("--to", tmp_path / "out.jsonl", "--server", "http://127.0.0.1:1", "--give-up-s", "0.1")
    ended = ran(tmp_path / "in.jsonl", *to)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert "has taken nothing" in ended.stderr


def test_each_end_has_its_code(builtin: LiveServer, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id":1,"text":"a"}\n{"id":2}\n{"id":3}\n{"id":1,"text":"a"}\n')
    to = ("--to", tmp_path / "out.jsonl", "--server", builtin.url)
    some = Program(source, *to).end(3)
    assert (some["points"], some["already"], some["repeated"], some["failed"]) == (1, 0, 1, 2)
    many = Program(source, "--max-errors", "1", *to[2:], "--to", tmp_path / "d.jsonl").end(4)
    assert "2 items have failed" in many["why"]
    source.write_text('{"id":1,"text":"a"}\n')
    assert Program(source, *to, "--ledger", tmp_path / "l", "--to", tmp_path / "b.jsonl").end()["points"] == 1
    (tmp_path / "c.jsonl").write_text("mine\n")
    Program(source, "--to", tmp_path / "c.jsonl", "--server", builtin.url).end(1)
