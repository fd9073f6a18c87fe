"""Files become items: each record one, and what is no record a reason."""

import argparse
import datetime
import io
import json
import os
from pathlib import Path

import orjson
import pyarrow
import pyarrow.parquet
import pytest

from service.ingest.arguments import add_arguments, options_of
from service.ingest.errors import FileError, IngestError
from service.ingest.files.pdf_process import PdfProcesses
from service.ingest.files.video_process import VideoProcesses
from service.ingest.item import BadRecord, OpenSource, SourceItem
from service.ingest.sending.media import ImageLoader
from service.ingest.sources import file_kinds, open_source
from service.ingest.sources.documents import Documents
from service.ingest.sources.pdf import PdfPages
from service.ingest.sources.record import Fields, ImageFolder
from service.ingest.sources.rows import JsonLines
from service.ingest.sources.video import VideoSegments

KINDS = file_kinds(PdfPages(PdfProcesses()), VideoSegments(VideoProcesses(), 0), Documents())


def opened(*paths: Path | str, **flags: str) -> OpenSource:
    given = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return open_source(options_of(parser.parse_args([*map(str, paths), "--to", "x.jsonl", *given])), KINDS)


def items(path: Path, **flags: str) -> list[SourceItem | BadRecord]:
    return list(opened(path, **flags).items())


def test_a_csv_may_quote_have_a_mark_and_be_wrong_in_a_row(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid,text,color\n1,"a ""door"",\nred",x\n2,too,many,fields\n3,short\n4,\xff,y\n5,last,z\n'
    )
    first, many, short, bytes_, last = items(path)
    assert isinstance(first, SourceItem)
    assert (first.id, first.text, first.metadata) == ("1", 'a "door",\nred', {"color": "x"})
    assert [isinstance(bad, BadRecord) for bad in (many, short, bytes_, last)] == [True, True, True, False]
    assert isinstance(bytes_, BadRecord)
    assert "UTF-8" in bytes_.reason.message


def test_records_without_an_id_have_a_digest_of_all_they_say(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text":"a"}\n{"text":"a"}\n{"text":"a","n":1}\n\n  \n{"text":"b"}')
    ids = [item.id for item in items(path)]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    (bad, *_) = items(path, id_field="sku")
    assert isinstance(bad, BadRecord)
    assert "`sku`" in bad.reason.message


def test_parquet_columns_come_as_json_holds_them_and_images_as_bytes(tmp_path: Path) -> None:
    day = datetime.date(2026, 11, 22)
    table = pyarrow.table(
        {"id": [1, 2], "image": [{"bytes": b"abc", "path": None}, {"bytes": None, "path": "no.png"}], "day": [day, day]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    good, gone = items(tmp_path / "in.parquet")
    assert isinstance(good, SourceItem)
    assert (good.id, good.media, good.metadata) == ("1", b"abc", {"day": "2026-11-22"})
    assert isinstance(gone, BadRecord)
    assert "no.png" in gone.reason.message
    assert opened(tmp_path).count() == 2
    (tmp_path / "z.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(IngestError, match=r"z\.parquet"):
        items(tmp_path)


def test_a_line_longer_than_any_request_is_an_error_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.ingest.sources.rows.MAX_LINE_BYTES", 100)
    stream = io.BytesIO(b'{"id":1,"text":"' + b"x" * 5000 + b'"}\n{"id":2,"text":"y"}\n')
    long, after = JsonLines(None, Fields(), ImageFolder(Path(), Path()), stream).items()
    assert isinstance(long, BadRecord)
    assert "more than 100 bytes" in long.reason.message
    assert after.id == "2"


def test_a_folder_takes_images_by_suffix_in_the_order_of_names_or_by_pattern(tmp_path: Path) -> None:
    for name in ("b/2.JPG", "b/1.png", "a.webp", "notes.txt", "b/c/3.gif"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert [item.id for item in items(tmp_path)] == ["a.webp", "notes.txt", "b/1.png", "b/2.JPG", "b/c/3.gif"]
    assert [item.id for item in items(tmp_path, glob="*.txt")] == ["notes.txt"]
    (tmp_path / os.fsdecode(b"\xff.png")).write_bytes(b"x")
    (bad,) = [item for item in items(tmp_path) if isinstance(item, BadRecord)]
    assert bad.id == "\\udcff.png"


@pytest.mark.parametrize("depth", [400, 100_000])
def test_a_record_nested_deeper_than_stores_take_is_an_error_and_the_next_is_read(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "in.jsonl"
    deep = ["[" * number + "]" * number for number in (depth, 150)]
    path.write_text("".join(f'{{"id":{len(one)},"text":"a","deep":{one}}}\n' for one in deep))
    bad, good = items(path)
    assert isinstance(bad, BadRecord)
    assert "nested deeper than 200" in bad.reason.message
    assert isinstance(good, SourceItem)
    orjson.dumps({"metadata": good.metadata})


def test_a_pipe_named_like_an_image_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (bad,) = items(tmp_path)
    assert isinstance(bad, BadRecord)
    assert (bad.reason.code, "not a regular file" in bad.reason.message) == ("unreadable_file", True)
    (tmp_path / "in.jsonl").write_text('{"id":1,"image":"pipe.png"}\n')
    (listed,) = items(tmp_path / "in.jsonl")
    assert isinstance(listed, BadRecord)
    late = tmp_path / "pipe.png"  # it was a file when it was listed
    with pytest.raises(FileError, match="not a regular file"):
        ImageLoader(100, 0, PdfProcesses()).load(late)


@pytest.mark.parametrize("way", ["../secret.png", "{outside}/secret.png", "link.png", "folder/secret.png"])
def test_a_record_leads_to_no_file_outside_the_root(tmp_path: Path, way: str) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    for folder in (tmp_path, outside, inside):
        (folder / "secret.png").write_bytes(b"x")
    (inside / "link.png").symlink_to(outside / "secret.png")
    (inside / "folder").symlink_to(outside)
    source = inside / "in.jsonl"
    source.write_text(
        "".join(json.dumps({"image": path}) + "\n" for path in (way.format(outside=outside), "secret.png"))
    )
    bad, good = items(source)
    assert isinstance(bad, BadRecord)
    assert "--root" in bad.reason.message
    assert isinstance(good, SourceItem)
    everywhere = list(opened(source, root=str(tmp_path)).items())
    assert all(isinstance(item, SourceItem) for item in everywhere)


@pytest.mark.parametrize("name", ["in.rst", "in", "nowhere.jsonl"])
def test_what_is_no_source_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.rst").touch()
    (tmp_path / "in").touch()
    with pytest.raises(IngestError, match="SOURCE"):
        opened(tmp_path / name)


def test_numbers_that_stores_cannot_hold_are_text(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"id":1,"text":"a","n":{1 << 70},"deep":[{{"m":{-(1 << 64)}}}]}}\n')
    (item,) = items(path)
    assert isinstance(item, SourceItem)
    assert item.metadata == {"n": str(1 << 70), "deep": [{"m": str(-(1 << 64))}]}


@pytest.mark.parametrize("file", ["a.pdf", "a.mp4"])
@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("in.jsonl", "expected one, or documents, PDFs and videos alone"),
        (".", "expected one, or documents, PDFs and videos alone"),
        ("nowhere.mp4", "SOURCE nowhere.mp4: no such file"),
    ],
)
def test_several_sources_are_files_of_items_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, other: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (file, "in.jsonl"):
        Path(name).touch()
    with pytest.raises(IngestError, match=words):
        opened(file, other)
