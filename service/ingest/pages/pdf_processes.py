"""Processes for threads that read PDFs at the same time."""

from service.ingest.file_processes import FileProcesses
from service.ingest.pages.pdf_process import PdfProcess
from service.workers.programs import has_pdfium


class PdfProcesses(FileProcesses[PdfProcess]):
    """One for each core, and two at least."""

    def __init__(self) -> None:
        super().__init__(PdfProcess, has_pdfium, ("pypdfium2", "pdf"))
