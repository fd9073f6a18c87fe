"""Pages of PDF files: each is an item `PATH#page=N`, whose metadata are path, page, number of pages and text layer."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.ingest.errors import FailureReason, FileError
from service.ingest.item import VERSION_BYTES, BadRecord, Metadata, SourceItem
from service.ingest.pages.page_image import PageContent, PageImage
from service.ingest.pages.pdf_processes import PdfProcesses
from service.ingest.source_file import SourceFile, find

SUFFIX = ".pdf"
MAX_PAGES = 100_000
"""Pages of a file; what names more is damaged, or was made to keep its reader busy."""
COUNTED_BYTES = 256 << 20
"""Of the files whose pages are counted before they are read; the others are estimated by their size."""
NO_TEXT = "the page has no text layer; --pages image embeds it as an image"


class PdfPages:
    """Reads files one after the other, page by page."""

    def __init__(self, processes: PdfProcesses, content: PageContent) -> None:
        self._processes = processes
        self._content = content

    @property
    def missing(self) -> str | None:
        """The message that says how to install what is missing, if anything is."""
        return self._processes.missing

    def items(self, path: Path, name: str) -> Iterator[SourceItem | BadRecord]:
        """Yield the pages of a file; one that cannot be opened is one bad record, and so is each damaged page."""
        try:
            file = find(path, name)
            num_pages = self._num_pages(file)
        except FileError as error:
            yield BadRecord(name, error.reason)
            return
        for page in range(1, num_pages + 1):
            id_ = f"{name}#page={page}"
            try:
                yield self._item(file, page, num_pages, id_)
            except FileError as error:
                yield BadRecord(id_, error.reason)

    def count(self, paths: Sequence[Path]) -> int:
        """Number of pages, extrapolated by size beyond `COUNTED_BYTES`."""
        num_pages = counted_bytes = rest_bytes = 0
        for path in paths:
            try:
                file = find(path, path.name)
                if counted_bytes + file.num_bytes > COUNTED_BYTES:
                    rest_bytes += file.num_bytes
                    continue
                counted_bytes += file.num_bytes
                num_pages += self._num_pages(file)
            except FileError:
                num_pages += 1  # a dead letter
        return num_pages + num_pages * rest_bytes // max(1, counted_bytes)

    def _num_pages(self, file: SourceFile) -> int:
        with self._processes.process(file) as process:
            num_pages = process.num_pages(file)
        if num_pages > MAX_PAGES:
            message = f"{file.name}: the PDF has {num_pages} pages; at most {MAX_PAGES} are read"
            raise FileError(FailureReason("media_too_large", message))
        return num_pages

    def _item(self, file: SourceFile, page: int, num_pages: int, id_: str) -> SourceItem:
        with self._processes.process(file) as process:
            read = process.read(file, page)
        metadata: Metadata = {"path": file.name, "page": page, "num_pages": num_pages}
        num_bytes = len(read.text)
        if self._content == "text":
            if not read.text:
                raise FileError(FailureReason("invalid_record", f"{id_}: {NO_TEXT}"))
            version = hashlib.sha256(read.text.encode()).digest()[:VERSION_BYTES]
            return SourceItem(id_, version, num_bytes, read.text, metadata=metadata)
        version = file.num_bytes.to_bytes(VERSION_BYTES, "big")
        image = PageImage(file, page, read.width_pt, read.height_pt)
        if self._content == "fused":
            return SourceItem(id_, version, num_bytes, read.text or None, image, metadata, file.stamp)
        return SourceItem(id_, version, num_bytes, None, image, metadata | {"text": read.text}, file.stamp)
