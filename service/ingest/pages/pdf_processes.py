"""Processes for threads that read PDFs at the same time."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from service.decode.page_decoder import has_pdfium
from service.ingest.errors import FailureReason, FileError, not_installed
from service.ingest.pages.page_image import PdfFile
from service.ingest.pages.pdf_process import PdfProcess

NUM_PROCESSES = max(2, os.cpu_count() or 2)


class PdfProcesses:
    """Lends each thread a process, one that has its file open if there is one; they start when needed."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._idle = [PdfProcess() for _ in range(NUM_PROCESSES)]

    @contextmanager
    def process(self, file: PdfFile) -> Iterator[PdfProcess]:
        """A process for tasks on `file`; blocks until one is free.

        Raises:
            FileError: PDFium is not installed.
        """
        if not has_pdfium():
            raise FileError(FailureReason("unreadable_file", f"{file.name}: {not_installed('pypdfium2', 'pdf')}"))
        with self._free:
            self._free.wait_for(lambda: self._idle)
            process = next((one for one in self._idle if one.file == file), self._idle[0])  # the longest idle
            self._idle.remove(process)
        try:
            yield process
        finally:
            with self._free:
                self._idle.append(process)
                self._free.notify()

    def close(self) -> None:
        """End the processes that are idle; the others end with the program."""
        with self._free:
            for process in self._idle:
                process.close()
