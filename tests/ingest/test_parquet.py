"""The Parquet sink: what a kill leaves is taken up again, and readers of the folder see whole parts alone."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from service.ingest.errors import IngestError
from service.ingest.item import Ask, Point, SourceItem
from service.ingest.sinks import parquet
from service.ingest.sinks.parquet import ParquetFolder
from service.ingest.sinks.sink import Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import DENSE_ALONE, Layout, Vectors
from tests.conftest import LiveServer
from tests.ingest.program import Program
from tests.ingest.proxy import Proxy
from tests.ingest.test_ledger import PLAN

pytestmark = pytest.mark.slow


def points(*numbers: int) -> list[Point]:
    asks = [Ask(SourceItem(str(n), b"", 0, f"text {n}"), None, PLAN.point_id(str(n), None)) for n in numbers]
    return [Point(ask, Vectors(dense=np.full(4, int(ask.item.id), "<f4").tobytes()), b"") for ask in asks]


def opened(folder: Path, position: int | None) -> ParquetFolder:
    sink = ParquetFolder(Target("parquet", str(folder)))
    sink.open(Layout(DENSE_ALONE, 4), Written(position or 0, is_first=position is None))
    return sink


def ids(folder: Path) -> list[int]:
    return sorted(map(int, pyarrow.parquet.read_table(folder)["id"].to_pylist()))


def test_what_was_written_before_a_kill_is_in_a_part_of_the_next_run(tmp_path: Path) -> None:
    folder = tmp_path / "out.parquet"
    first = opened(folder, None)
    first.write(points(1, 2))
    marked = first.write(points(3))
    first.write(points(4, 5))  # killed before this was marked
    second = opened(folder, marked)
    second.write(points(4, 6))
    second.close()
    assert ids(folder) == [1, 2, 3, 4, 6]
    assert [path.name for path in folder.iterdir() if path.name[0] != "."] == ["part-00000.parquet"]


def test_parts_are_full_whatever_number_of_runs_has_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "PART_ROWS", 5)
    folder, position = tmp_path / "out.parquet", None
    for start in range(0, 12, 2):
        sink = opened(folder, position)
        position = sink.write(points(start, start + 1))
        if start % 4:
            sink.close()
    counts = [pyarrow.parquet.read_table(path).num_rows for path in sorted(folder.glob("*.parquet"))]
    assert (counts, ids(folder)) == ([6, 6], list(range(12)))
    opened(folder, position).close()
    assert not list(folder.glob(".*")), "every part is marked"


def test_a_kill_between_a_part_and_its_mark_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "PART_ROWS", 3)
    folder = tmp_path / "out.parquet"
    sink = opened(folder, None)
    marked = sink.write(points(1, 2))
    sink.write(points(3))
    assert ids(folder) == [1, 2, 3]
    again = opened(folder, marked)
    again.write(points(3, 4))
    again.close()
    assert ids(folder) == [1, 2, 3, 4]


def test_a_folder_of_the_version_before_goes_on_and_a_lost_spool_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "out.parquet"
    folder.mkdir()
    old = opened(tmp_path / "old", None)
    old.write(points(1))
    old.close()
    (tmp_path / "old/part-00000.parquet").rename(folder / "part-00000.parquet")
    (folder / "part-00001.parquet").write_bytes(b"PAR1 of a run that was killed before its mark")
    sink = opened(folder, 1)
    position = sink.write(points(2))
    sink.close()
    assert ids(folder) == [1, 2]
    next(folder.glob(".*.spool")).write_bytes(b"cut")
    with pytest.raises(IngestError, match=r"\.part-00001\.spool"):
        opened(folder, position)


def test_a_run_that_is_killed_soon_has_kept_what_it_wrote(builtin: LiveServer, tmp_path: Path) -> None:
    source, folder = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    source.write_text("".join(json.dumps({"id": n, "text": f"door {n}"}) + "\n" for n in range(120)))
    slow = Proxy(builtin.url, dawdle_s=0.3)
    arguments = (source, "--to", folder, "--concurrency", "1", "--batch-inputs", "4", "--server")
    already = 0
    for _ in range(2):
        run = Program(*arguments, slow.url)
        run.kill_when(lambda run=run: any(event["points"] for event in run.events()))
        already = max([event["already"] for event in run.events()], default=0)
    assert already > 0, "the second run had what the first one wrote"
    slow.stop()
    end = Program(*arguments, builtin.url).end()
    assert (end["points"] + end["already"], end["already"] > already) == (120, True)
    assert ids(folder) == list(range(120))
