"""Pages of PDFs through `cenote ingest`: every page once, with the vector of the server's own, every failure named."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer
from tests.ingest.pdf_folder import BROKEN, FILES, NUM_PAGES, fill
from tests.ingest.program import Program, by_id
from tests.ingest.proxy import Proxy

pytestmark = pytest.mark.slow


def page_part(name: str, page: int) -> dict[str, Any]:
    encoded = base64.b64encode(FILES[name]).decode()
    return {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{encoded}"}, "page": page}


def test_a_folder_gives_every_page_once_with_its_vector_and_every_failure_its_name(
    builtin: LiveServer, tmp_path: Path
) -> None:
    ids, sink = fill(tmp_path / "in"), tmp_path / "out.jsonl"
    slow = Proxy(builtin.url, dawdle_s=1)  # so that the files are counted before all are done
    end = Program(tmp_path / "in", "--to", sink, "--server", slow.url).end(3)
    slow.stop()
    assert (end["points"], end["failed"], end["total"]) == (len(ids), len(BROKEN), len(ids) + len(BROKEN))
    found = by_id(sink)
    assert set(found) == set(ids)
    for name in FILES:
        pages = range(1, NUM_PAGES[name] + 1)
        here = np.array([found[f"{name}#page={page}"]["vector"] for page in pages])
        there = builtin.vectors({"inputs": [{"content": [page_part(name, page)]} for page in pages]})
        np.testing.assert_allclose(here, there, rtol=0, atol=TOLERANCE)
        for page in pages:
            metadata = found[f"{name}#page={page}"]["metadata"]
            assert metadata | {"text": ""} == {"path": name, "page": page, "num_pages": len(pages), "text": ""}
    assert found["reports/letters.pdf#page=7"]["metadata"]["text"].startswith(
        "Page 7, line 0: the quick brown fox 0.\n"
    )
    assert found["reports/scan.pdf#page=1"]["metadata"]["text"] == ""
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert {name: line["code"] for name, line in letters.items()} == dict.fromkeys(BROKEN, "media_undecodable")
    assert all(words in letters[name]["message"] for name, (_, words) in BROKEN.items())
    again = Program(tmp_path / "in", "--to", sink, "--server", builtin.url).end(3)
    assert (again["points"], again["already"], again["failed"]) == (0, len(ids), len(BROKEN))


def test_text_layers_alone_are_texts_and_a_scan_says_what_reads_it(builtin: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path)
    files = [tmp_path / "reports/letters.pdf", tmp_path / "reports/scan.pdf"]
    sink = tmp_path / "out.jsonl"
    to = ("--to", sink, "--server", builtin.url)
    assert Program(*files, *to, "--pages", "text").end(3)["points"] == 12
    one = by_id(sink)[f"{files[0]}#page=3"]
    assert one["text"].startswith("Page 3, line 0")
    assert one["metadata"] == {"path": str(files[0]), "page": 3, "num_pages": 12}
    np.testing.assert_allclose([one["vector"]], builtin.vectors({"input": one["text"]}), rtol=0, atol=TOLERANCE)
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert sorted(letters) == [f"{files[1]}#page={page}" for page in range(1, 5)]
    assert all("--pages image" in letter["message"] for letter in letters.values())
    assert 'pages was "text" and is "fused"' in Program(*files, *to, "--pages", "fused").end(1)["why"]


def test_text_and_image_of_a_page_are_one_input(builtin: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path)
    sink = tmp_path / "out.jsonl"
    Program(
        tmp_path / "forms.PDF", tmp_path / "point.pdf", "--to", sink, "--server", builtin.url, "--pages", "fused"
    ).end()
    found = by_id(sink)
    form, point = (found[f"{tmp_path / name}#page=1"] for name in ("forms.PDF", "point.pdf"))
    assert (form["text"], point["text"]) == ("Form 1\nfilled in", None)
    part = {"type": "text", "text": "Form 1\nfilled in"}
    there = builtin.vectors({"inputs": [{"content": [page_part("forms.PDF", 1), part]}]})
    np.testing.assert_allclose([form["vector"]], there, rtol=0, atol=TOLERANCE)


def test_pages_of_a_file_that_became_another_are_refused(builtin: LiveServer, tmp_path: Path) -> None:
    file, sink = tmp_path / "a.pdf", tmp_path / "out.jsonl"
    arguments = (file, "--to", sink, "--server", builtin.url)
    file.write_bytes(FILES["slides.pdf"])
    assert Program(*arguments).end()["points"] == 5
    file.touch()  # only the time is another
    assert Program(*arguments).end()["already"] == 5
    file.write_bytes(FILES["slides.pdf"].replace(b"/Rotate 0", b"/Rotate 90"[:9]))
    assert file.read_bytes() != FILES["slides.pdf"]
    end = Program(*arguments).end(3)
    assert (end["points"], end["failed"]) == (0, 5)
    codes = {line["code"] for line in by_id(tmp_path / "out.jsonl.dead.jsonl").values()}
    assert codes == {"content_changed"}
