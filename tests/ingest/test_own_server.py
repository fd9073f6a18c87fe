"""The server that a run starts for itself: a run that is killed takes it along and leaves no file."""

from pathlib import Path

from tests.ingest.program import Program


def test_nothing_is_left_of_a_run_that_is_killed(tmp_path: Path) -> None:
    source, temporary = tmp_path / "in.jsonl", tmp_path / "tmp"
    source.write_text('{"id":1,"text":"a"}\n')
    temporary.mkdir()
    run = Program(source, "--to", tmp_path / "out.jsonl", env={"TMPDIR": str(temporary)})
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children")
    run.kill_when(lambda: bool(children.read_text()))
    assert list(temporary.iterdir()) == []
