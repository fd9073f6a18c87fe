"""Processes that read PDFs for a run: lost ones are replaced, files are kept, and what cannot be read has a reason."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from service.ingest.errors import FileError
from service.ingest.files import pdf_process
from service.ingest.files.file_processes import NUM_PROCESSES
from service.ingest.files.pdf_process import PdfProcess, PdfProcesses
from service.ingest.files.source_file import PageImage, SourceFile, find
from service.ingest.item import SourceItem
from service.ingest.sending.media import ImageLoader
from service.ingest.sources.pdf import PdfPages
from tests.conftest import children_of
from tests.pdf_file import annotated, boundless, endless, pdf, raw

MAX_PIXELS = 100_000


@pytest.fixture
def process() -> Iterator[PdfProcess]:
    with closing(PdfProcess()) as process:
        yield process


def written(folder: Path, content: bytes, name: str = "a.pdf") -> SourceFile:
    (folder / name).write_bytes(content)
    return find(folder / name, name)


def test_a_process_that_was_killed_costs_no_page(process: PdfProcess, tmp_path: Path) -> None:
    file, others = written(tmp_path, pdf(3)), set(children_of(os.getpid()))
    assert process.num_pages(file) == 3
    (worker,) = set(children_of(os.getpid())) - others
    os.kill(worker, signal.SIGKILL)
    assert process.read(file, 2).text.startswith("Page 2")
    assert process.render(PageImage(file, 3, 595, 842), MAX_PIXELS).shape == (377, 266, 3)


def test_a_file_is_sent_to_its_process_once(
    process: PdfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other, opened = written(tmp_path, pdf(3)), written(tmp_path, pdf(2), "b.pdf"), []
    content = pdf_process._content
    monkeypatch.setattr(pdf_process, "_content", lambda one: opened.append(one.name) or content(one))
    for page in (1, 2, 3):
        process.read(file, page)
    assert process.num_pages(other) == 2
    assert process.num_pages(file) == 3
    assert opened == ["a.pdf", "b.pdf", "a.pdf"]
    changed = written(tmp_path, pdf(5))
    assert process.num_pages(changed) == 5


def test_a_page_without_end_ends_and_the_next_is_read(
    process: PdfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf_process, "DEADLINE_S", 1.0)
    for content, words in ((endless(), "within 1 s"), (boundless(), "The PDF cannot be read")):
        with pytest.raises(FileError, match=words):
            process.render(PageImage(written(tmp_path, content), 1, 612, 792), MAX_PIXELS)
    assert process.num_pages(written(tmp_path, pdf(2), "b.pdf")) == 2


REFUSED = {
    "gone": (None, "unreadable_file", "No such file"),
    "too large": (b"%PDF-1.4" + bytes(4000), "media_too_large", "at most 4000"),
    "without pages": (
        raw([b""]).replace(b"/Kids[3 0 R]/Count 1", b"/Kids[     ]/Count 0"),
        "media_undecodable",
        "damaged",
    ),
    "a form of scripts": (
        annotated(b"/Subtype/Link", b"", b"/NeedsRendering true/AcroForm<</Fields[]/XFA[]>>"),
        "media_undecodable",
        "XFA",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    content, code, words = REFUSED[name]
    monkeypatch.setattr(pdf_process, "MAX_PDF_BYTES", 4000)
    if content is not None:
        (tmp_path / "a.pdf").write_bytes(content)
    with closing(PdfProcesses()) as processes:
        (bad,) = PdfPages(processes).items(tmp_path / "a.pdf", "a.pdf")
    assert not isinstance(bad, SourceItem)
    assert (bad.id, bad.reason.code) == ("a.pdf", code)
    assert "a.pdf" in bad.reason.message
    assert words in bad.reason.message


def test_a_model_without_images_is_told_of_texts(tmp_path: Path) -> None:
    file = written(tmp_path, pdf(1))
    with closing(PdfProcesses()) as processes:
        (item,) = PdfPages(processes).items(file.path, file.name)
        assert isinstance(item, SourceItem)
        assert isinstance(item.media, PageImage)
        with pytest.raises(FileError, match="--pages text"):
            ImageLoader(1 << 20, 0, processes).load(item.media)
        ImageLoader(1 << 20, MAX_PIXELS, processes).load(item.media)
        with pytest.raises(FileError, match="at most 100"):
            ImageLoader(100, MAX_PIXELS, processes).load(item.media)


def test_threads_have_a_process_each_and_the_one_with_their_file(tmp_path: Path) -> None:
    first, second = written(tmp_path, pdf(1)), written(tmp_path, pdf(2), "b.pdf")
    with closing(PdfProcesses()) as processes:
        with processes.process(first) as one, processes.process(second) as other:
            assert one is not other
            assert (one.num_pages(first), other.num_pages(second)) == (1, 2)
        with processes.process(first) as again:
            assert again is one
        with processes.process(second) as again:
            assert again is other
        assert len(processes._idle) == NUM_PROCESSES


def test_pages_are_counted_and_beyond_a_size_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [written(tmp_path, pdf(3), f"{i}.pdf").path for i in range(4)]
    bad = written(tmp_path, b"PK", "bad.pdf").path
    with closing(PdfProcesses()) as processes:
        pages = PdfPages(processes)
        assert pages.count([*paths, bad, tmp_path / "gone.pdf"]) == 14
        monkeypatch.setattr("service.ingest.sources.pdf.PdfPages.counted_bytes", 2 * paths[0].stat().st_size)
        assert pages.count(paths) == 12
