"""The server that a run starts for itself: a run that is killed takes it along and leaves no file."""

from pathlib import Path

import pytest

from tests.ingest.program import Program, by_id, ran


@pytest.mark.slow
def test_documents_get_a_model_of_texts_where_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Tomatoes\n\nWater them in the morning.")
    (tmp_path / "docs" / "b.txt").write_text("The train leaves at noon.")
    Program(tmp_path / "docs", "--to", tmp_path / "out.jsonl").end()
    found = by_id(tmp_path / "out.jsonl")
    assert {len(line["vector"]) for line in found.values()} == {384}


def test_nothing_is_left_of_a_run_that_is_killed(tmp_path: Path) -> None:
    source, temporary = tmp_path / "in.jsonl", tmp_path / "tmp"
    source.write_text('{"id":1,"text":"a"}\n')
    temporary.mkdir()
    run = Program(source, "--to", tmp_path / "out.jsonl", env={"TMPDIR": str(temporary)})
    children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children")
    run.kill_when(lambda: bool(children.read_text()))
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_server_that_does_not_become_ready_ends_the_run_with_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":1,"text":"a"}\n')
    ended = ran(tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--device", "cuda:99")
    assert ended.returncode == 1
    assert "`cenote serve` did not start: " in ended.stderr
    assert "cuda:99" in ended.stderr
