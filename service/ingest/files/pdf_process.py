"""A PDF file in a process that can be killed: its number of pages, and of each page size, text and pixels."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.ingest.errors import FileError
from service.ingest.files.file_processes import FileProcess, FileProcesses
from service.ingest.files.source_file import PageImage, SourceFile, open_regular
from service.media.page.page_file import HEAD_BYTES, LACKS, MAGIC, NOT_A_PDF, UNREADABLE, PageInfo, Raster
from service.media.resize.resize import Framing
from service.workers.messages import DecodeEnd, PageTask
from service.workers.programs import PAGES, has_pdfium
from service.workers.worker_process import WorkerProcess

MAX_PDF_BYTES = 256 << 20
"""Largest file: its process holds two copies of it."""
MAX_TEXT_BYTES = 64 << 10
"""Text that is taken from a page, some twenty times what a full one has."""
DEADLINE_S = 20.0
"""Of opening a file, and of each page."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Size and text layer of a page; a scan's text is empty."""

    width_pt: float
    height_pt: float
    text: str


class PdfProcess(FileProcess):
    """A process that reads PDFs."""

    command = PAGES
    what = "PDF"
    unreadable = UNREADABLE

    def __init__(self) -> None:
        super().__init__(DEADLINE_S)

    def num_pages(self, file: SourceFile) -> int:
        """The number of pages."""
        end, _ = self._ask(file, PageTask(encoded=b"", keeps=True, page=0), 0, file.name)
        if end.page is None or not end.page.num_pages:
            self.refuse(file.name, UNREADABLE)
        return end.page.num_pages

    def read(self, file: SourceFile, page: int) -> ReadPage:
        """Size and text of a page, counted from 1."""
        name = f"{file.name} page {page}"
        task = PageTask(encoded=b"", keeps=True, page=page, num_text_bytes=MAX_TEXT_BYTES)
        end, text = self._ask(file, task, MAX_TEXT_BYTES, name)
        if end.page is None or not (0 < end.page.width_pt < np.inf and 0 < end.page.height_pt < np.inf):
            self.refuse(name, UNREADABLE)
        return ReadPage(end.page.width_pt, end.page.height_pt, text.tobytes().rstrip(b"\0").decode(errors="replace"))

    def render(self, image: PageImage, max_pixels: int) -> NDArray[np.uint8]:
        """The page in RGB [height, width, 3], as the server renders a `file` part for a model of `max_pixels`."""
        info = PageInfo(num_pages=image.page, width_pt=image.width_pt, height_pt=image.height_pt)
        raster, name = Raster.of(info, max_pixels), f"{image.file.name} page {image.page}"
        size, framing = raster.size, Framing((raster.size,))
        task = PageTask(
            encoded=b"", keeps=True, page=image.page, scale=raster.scale, raster_size=size, size=size, framing=framing
        )
        _, pixels = self._ask(image.file, task, size[0] * size[1] * 3, name)
        if not len(pixels):
            self.refuse(name, UNREADABLE)
        return pixels.reshape(*size, 3)

    def open(self, worker: WorkerProcess, file: SourceFile) -> bytes:
        """Have a process open a file; return the digest of its content."""
        encoded = _content(file)
        end, _ = worker.exchange(PageTask(encoded=encoded, keeps=True, page=0), 0, DEADLINE_S)
        if end.page is None:
            self.refuse(file.name, UNREADABLE)
        if end.page.lacks:
            self.refuse(file.name, LACKS[end.page.lacks])
        return hashlib.sha256(encoded).digest()

    def _ask(self, file: SourceFile, task: PageTask, num_bytes: int, name: str) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        return self.ask(file, name, DEADLINE_S, lambda worker: worker.exchange(task, num_bytes, DEADLINE_S))


def _content(file: SourceFile) -> bytes:
    try:
        with open_regular(file.path) as opened:
            encoded = opened.read(MAX_PDF_BYTES + 1)
    except OSError as error:
        raise FileError("unreadable_file", f"{file.name}: {error.strerror}") from None
    if len(encoded) > MAX_PDF_BYTES:
        raise FileError(
            "media_too_large", f"{file.name}: the PDF has {file.num_bytes} bytes; at most {MAX_PDF_BYTES} are read"
        )
    if MAGIC not in encoded[:HEAD_BYTES]:
        raise FileError("media_undecodable", f"{file.name}: {NOT_A_PDF}")
    return encoded


class PdfProcesses(FileProcesses[PdfProcess]):
    """One for each core, and two at least."""

    def __init__(self) -> None:
        super().__init__(PdfProcess, has_pdfium, ("pypdfium2", "pdf"))
