"""Long texts as chunks: every character in one of them, in its place, and the settings part of the plan."""

import json
from pathlib import Path

import numpy as np
import pytest

from service.ingest.item import BadRecord, SourceItem
from service.ingest.sources import chunks
from service.ingest.sources.chunks import SECTION_CHARS, _long_sections, chunk_items, cut_by_chars
from tests.conftest import TOLERANCE, LiveServer
from tests.ingest.program import Program, lines
from tests.ingest.test_records import opened

CHUNK_KEYS = {"of", "number", "num_chunks", "start", "end"}
"""Of a chunk's place, as docs/ingest.md shows it."""

DIAERESIS = "\N{LATIN SMALL LETTER I WITH DIAERESIS}"
TEXT = "".join(
    f"Paragraph {number} has a sentence. And here is another one, of {number * 7} words; na{DIAERESIS}ve.\n\n"
    for number in range(60)
)


def split(folder: Path, *records: dict[str, object], overlap: int = 0) -> list[SourceItem | BadRecord]:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    split: list[SourceItem | BadRecord] = []
    for item in opened(path).items():
        if isinstance(item, BadRecord) or item.media is not None or item.text is None:
            split.append(item)
        else:
            split += chunk_items(item, cut_by_chars(item.text, 200, overlap) or [(0, item.text)])
    return split


@pytest.mark.parametrize("overlap", [0, 80])
def test_chunks_are_where_they_say_and_leave_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overlap: int
) -> None:
    monkeypatch.setattr(chunks, "SECTION_CHARS", 1500)
    items = split(tmp_path, {"id": "a", "text": TEXT, "lang": "en"}, overlap=overlap)
    covered, starts = set[int](), []
    for number, item in enumerate(items, start=1):
        assert isinstance(item, SourceItem)
        assert item.text is not None
        place = item.metadata["chunk"]
        assert set(place) == CHUNK_KEYS
        assert (place["of"], place["number"]) == ("a", number)
        assert (item.id, item.metadata["lang"]) == (f"a#chunk={number}", "en")
        assert place["num_chunks"] == len(items)
        assert TEXT[place["start"] : place["end"]] == item.text
        assert 0 < len(item.text) <= 200
        assert item.text.endswith(".")
        covered.update(range(place["start"], place["end"]))
        starts.append(place["start"])
    assert starts == sorted(starts)
    assert not [char for place, char in enumerate(TEXT) if place not in covered and not char.isspace()]
    assert (sum(len(item.text or "") for item in items if isinstance(item, SourceItem)) > len(TEXT)) == bool(overlap)


def test_short_texts_are_one_chunk_and_other_items_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    image = {"id": 3, "text": TEXT, "image": "a.png"}
    short, empty, whole, bad = split(tmp_path, {"id": 1, "text": "short"}, {"id": 2, "text": " \n "}, image, {"id": 4})
    assert isinstance(short, SourceItem)
    assert (short.id, short.text, short.metadata["chunk"]["end"]) == ("1#chunk=1", "short", 5)
    assert isinstance(empty, SourceItem)
    assert empty.text == " \n "
    assert isinstance(whole, SourceItem)
    assert (whole.id, whole.text, whole.metadata) == ("3", TEXT, {})
    assert isinstance(bad, BadRecord)


@pytest.mark.parametrize("text", [TEXT * 24, "x" * 120_000, "word " * 30_000, "line\n" * 30_000])
def test_the_splitter_gets_a_long_text_in_sections(text: str) -> None:
    sections = list(_long_sections(text))
    assert "".join(section for _, section in sections) == text
    assert all(text[start : start + len(section)] == section for start, section in sections)
    assert 3 <= len(sections) <= 4
    assert all(len(section) <= SECTION_CHARS for _, section in sections)
    assert "x" in text or all(section[-1].isspace() for _, section in sections)


def test_a_run_stores_chunks_and_another_size_is_another_plan(builtin: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")
    arguments = (tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--server", builtin.url, "--chunk-chars", "300")
    num_points = Program(*arguments).end()["points"]
    found = lines(tmp_path / "out.jsonl")
    assert len(found) == num_points > 10
    vectors = builtin.vectors({"input": [point["text"] for point in found]})
    np.testing.assert_allclose([point["vector"] for point in found], vectors, rtol=0, atol=TOLERANCE)
    assert Program(*arguments).end()["already"] == num_points
    assert "chunk_overlap was 0 and is 9" in Program(*arguments, "--chunk-overlap", "9").end(1)["why"]
