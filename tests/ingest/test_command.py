"""Ends of a run: one exit code for each, and nothing said of a run that never began."""

import contextlib
import errno
import resource
import sqlite3
import time
from pathlib import Path

import pytest

from service.cli import main
from service.ingest.errors import file_error
from tests.conftest import LiveServer
from tests.ingest.program import Program, ran
from tests.ingest.proxy import Proxy

MOST_BYTES = 64 << 10
OUT = ("-", "--to", "out.jsonl", "--server", "http://127.0.0.1:1")
LATE = (*OUT, "--late-chunking", "--chunk-chars", "100")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("nowhere", "--to", "out.jsonl"), "SOURCE nowhere"),
        (("-", "--to", "out.xyz"), "--to out.xyz"),
        (("-", "--to", "out.jsonl", "--server", "localhost:8000"), "--server localhost:8000"),
        (("-", "--to", "out.jsonl", "--server", "http://h", "--api-key-env", "NO_SUCH"), "--api-key-env NO_SUCH"),
        (("-", "--to", "out.jsonl", "--batch-inputs", "0"), "--batch-inputs"),
        (("-",), "--to"),
        ((*OUT, "--segment-s", "0"), "--segment-s: got '0'"),
        ((*OUT, "--outputs", "dense,colbert"), "got colbert, expected some of dense,sparse,multi"),
        ((*OUT, "--outputs", "sparse", "--raw"), "--raw: expected --outputs dense alone, got sparse"),
        ((*OUT, "--chunk-chars", "0"), "--chunk-chars"),
        ((*OUT, "--chunk-overlap", "5"), "--chunk-overlap: got 5, expected --chunk-chars too"),
        ((*OUT, "--chunk-chars", "5", "--chunk-overlap", "5"), "got 5, expected less than --chunk-chars 5"),
        ((*OUT, "--chunk-chars", "5", "--chunk-tokens", "5"), "--chunk-tokens: got --chunk-chars too"),
        ((*OUT, "--update"), "--update: got --to out.jsonl, expected a store"),
        ((*OUT[:1], "--to", "out.parquet", "--prune"), "--prune: got --to out.parquet, expected a store"),
        ((*OUT, "--late-chunking"), "--late-chunking: expected --chunk-chars or --chunk-tokens too, got neither"),
        ((*LATE, "--chunk-overlap", "5"), "--chunk-overlap: got 5 with --late-chunking"),
        ((*LATE, "--outputs", "dense,sparse"), "expected --outputs dense alone, got dense,sparse"),
    ],
)
def test_a_wrong_command_line_is_2_and_says_which_argument(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], named: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ingest", *arguments])
    said = capsys.readouterr().err
    assert (ended.value.code, named in said) == (2, True), said
    assert "vectors written" not in said


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
    stranger = Program(source, "--to", tmp_path / "c.jsonl", "--server", builtin.url).end(1)
    assert "no ledger that knows it" in stranger["why"]
    assert (tmp_path / "c.jsonl").read_text() == "mine\n"


@pytest.mark.slow
def test_a_full_disk_is_the_sinks_error_and_not_the_dead_letters(builtin: LiveServer, tmp_path: Path) -> None:
    """No long file of the run may grow: the sink fails first, and the dead letters when they are written at the end."""
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    texts = (f'{{"id":{n},"text":"a door, no. {n}"}}\n' for n in range(400))
    source.write_text("".join([f'{{"id":"{"bad" * MOST_BYTES}"}}\n', *texts]))
    slow = Proxy(builtin.url, dawdle_s=0.2, num_forwarded=30)
    arguments = (source, "--to", out, "--concurrency", "1", "--batch-inputs", "16")
    run = Program(*arguments, "--server", slow.url)
    while not (out.exists() and out.stat().st_size > MOST_BYTES):
        assert run.process.poll() is None, run.stderr()
        time.sleep(0.01)
    resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    why = run.end(1)["why"]
    slow.stop()
    assert why.startswith((f"--to {out}: File too large", f"--ledger {out}.ledger: ")), why  # between the two writes
    assert Program(*arguments, "--server", builtin.url).end(3)["points"] > 0


def test_a_full_disk_is_called_so_whichever_file_is_on_it(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert (
        str(file_error("--dead-letters", tmp_path, full)) == f"the disk is full: no more can be written to {tmp_path}"
    )
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger")) as database:
        database.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as caught:
            database.executescript("CREATE TABLE a (b); CREATE TABLE c (d); CREATE TABLE e (f)")
    assert "the disk is full" in str(file_error("--ledger", tmp_path, caught.value, "it is damaged"))
    assert str(file_error("--to", tmp_path, OSError(5, "Input/output error"))) == f"--to {tmp_path}: Input/output error"
