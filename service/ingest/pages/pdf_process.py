"""A PDF file in a process that can be killed: its number of pages, and of each page size, text and pixels."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.decode.messages import DecodeEnd, PageTask
from service.decode.page_decoder import PageDecoder
from service.decode.worker_process import WorkerLostError, WorkerProcess
from service.decode.worker_slot import WorkerSlot
from service.errors import ModelError, UnavailableError
from service.ingest.errors import FailureReason, FileError, IngestError
from service.ingest.pages.page_image import PageImage, PdfFile
from service.ingest.sending.version import open_regular
from service.media.page.page_file import ENCRYPTED, HEAD_BYTES, MAGIC, NOT_A_PDF, UNREADABLE, PageInfo, Raster

MAX_PDF_BYTES = 256 << 20
"""Largest file: its process holds two copies of it."""
MAX_TEXT_BYTES = 64 << 10
"""Text that is taken from a page, some twenty times what a full one has."""
DEADLINE_S = 20.0
"""Of opening a file, and of each page."""
MAX_MEMORY_BYTES = 1 << 30
"""Of a process."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """Facts about a page.

    Attributes:
        text: its text layer; empty of a scan.
    """

    width_pt: float
    height_pt: float
    text: str


class PdfProcess:
    """A process that keeps the file of its last task open; for one thread at a time.

    Attributes:
        file: the one that is open, or was to be opened last.
        digest: SHA-256 of its content.
    """

    def __init__(self) -> None:
        self._slot = WorkerSlot(PageDecoder.command, max_memory_bytes=MAX_MEMORY_BYTES, deadline_s=DEADLINE_S)
        self._holder: WorkerProcess | None = None
        self.file: PdfFile | None = None
        self.digest = b""

    def num_pages(self, file: PdfFile) -> int:
        """The number of pages.

        Raises:
            FileError: the file is gone, too large, encrypted or damaged, or opening it takes too long.
        """
        end, _ = self._ask(file, PageTask(encoded=b"", keeps=True, page=0), 0, file.name)
        if end.page is None or not end.page.num_pages:
            raise _refused(file.name, UNREADABLE)
        return end.page.num_pages

    def read(self, file: PdfFile, page: int) -> ReadPage:
        """Size and text of a page, counted from 1.

        Raises:
            FileError: as `num_pages`, or the page is damaged or takes too long.
        """
        name = f"{file.name} page {page}"
        task = PageTask(encoded=b"", keeps=True, page=page, num_text_bytes=MAX_TEXT_BYTES)
        end, text = self._ask(file, task, MAX_TEXT_BYTES, name)
        if end.page is None or not (0 < end.page.width_pt < np.inf and 0 < end.page.height_pt < np.inf):
            raise _refused(name, UNREADABLE)
        return ReadPage(end.page.width_pt, end.page.height_pt, text.tobytes().rstrip(b"\0").decode(errors="replace"))

    def render(self, image: PageImage, max_pixels: int) -> NDArray[np.uint8]:
        """The page in RGB [height, width, 3], as the server renders a `file` part for a model of `max_pixels`.

        Raises:
            FileError: as `read`.
        """
        info = PageInfo(num_pages=image.page, width_pt=image.width_pt, height_pt=image.height_pt)
        raster, name = Raster.of(info, max_pixels), f"{image.file.name} page {image.page}"
        task = PageTask(
            encoded=b"", keeps=True, page=image.page, scale=raster.scale, raster_size=raster.size, size=raster.size
        )
        _, pixels = self._ask(image.file, task, raster.size[0] * raster.size[1] * 3, name)
        if not len(pixels):
            raise _refused(name, UNREADABLE)
        return pixels.reshape(*raster.size, 3)

    def close(self) -> None:
        """End the process."""
        self._slot.close()

    def _ask(self, file: PdfFile, task: PageTask, num_bytes: int, name: str) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Have a task done in a process that has the file open.

        Raises:
            FileError: the file's fault.
            IngestError: processes do not start.
        """

        def exchange(worker: WorkerProcess) -> tuple[DecodeEnd, NDArray[np.uint8]]:
            if worker is not self._holder or self.file != file:
                self._open(worker, file)
            return worker.exchange(task, num_bytes, DEADLINE_S)

        try:
            return self._slot.run(exchange)
        except TimeoutError:
            raise _refused(name, f"The PDF cannot be read within {DEADLINE_S:g} s.") from None
        except WorkerLostError:
            raise _refused(name, UNREADABLE) from None
        except UnavailableError:
            message = f"{name}: the process that read it was ended from outside, twice: memory may be short"
            raise FileError(FailureReason("overloaded", message)) from None
        except ModelError as error:
            raise IngestError(f"PDFs: {error.message}") from None

    def _open(self, worker: WorkerProcess, file: PdfFile) -> None:
        self._holder = None  # until the process has said so, it has no file
        encoded = _content(file)
        self.file, self.digest = file, hashlib.sha256(encoded).digest()
        end, _ = worker.exchange(PageTask(encoded=encoded, keeps=True, page=0), 0, DEADLINE_S)
        if end.page is None:
            raise _refused(file.name, UNREADABLE)
        if end.page.needs_password:
            raise _refused(file.name, ENCRYPTED)
        self._holder = worker


def _content(file: PdfFile) -> bytes:
    try:
        with open_regular(file.path) as opened:
            encoded = opened.read(MAX_PDF_BYTES + 1)
    except OSError as error:
        raise FileError(FailureReason("unreadable_file", f"{file.name}: {error.strerror}")) from None
    if len(encoded) > MAX_PDF_BYTES:
        message = f"{file.name}: the PDF has {file.num_bytes} bytes; at most {MAX_PDF_BYTES} are read"
        raise FileError(FailureReason("media_too_large", message))
    if MAGIC not in encoded[:HEAD_BYTES]:
        raise _refused(file.name, NOT_A_PDF)
    return encoded


def _refused(name: str, message: str) -> FileError:
    return FileError(FailureReason("media_undecodable", f"{name}: {message}"))
