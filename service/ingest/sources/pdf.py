"""Pages of PDF files: each is an item `PATH#page=N`, whose metadata are path, page, number of pages and text layer."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from service.ingest.errors import FileError
from service.ingest.files.pdf_process import PdfProcesses
from service.ingest.files.source_file import PageContent, PageImage, SourceFile, find
from service.ingest.item import VERSION_BYTES, BadRecord, Metadata, SourceItem
from service.ingest.sources.files import FileItems

SUFFIX = ".pdf"
MAX_PAGES = 100_000
"""Pages of a file; what names more is damaged, or was made to keep its reader busy."""
NO_TEXT = "the page has no text layer; --pages image embeds it as an image"


class PdfPages(FileItems):
    """Reads files one after the other, page by page.

    Attributes:
        content: what is embedded of a page.
    """

    counted_bytes = 256 << 20

    def __init__(self, processes: PdfProcesses) -> None:
        super().__init__(processes)
        self._processes = processes
        self.content: PageContent = "image"

    def items(self, path: Path, name: str) -> Iterator[SourceItem | BadRecord]:
        """Yield the pages of a file; one that cannot be opened is one bad record, and so is each damaged page."""
        try:
            file = find(path, name)
            num_pages = self.num_items(file)
        except FileError as error:
            yield BadRecord(name, error.reason)
            return
        for page in range(1, num_pages + 1):
            id_ = f"{name}#page={page}"
            try:
                yield self._item(file, page, num_pages, id_)
            except FileError as error:
                yield BadRecord(id_, error.reason, root=name)

    def num_items(self, file: SourceFile) -> int:
        """Number of pages, which may be too many."""
        with self._processes.process(file) as process:
            num_pages = process.num_pages(file)
        if num_pages > MAX_PAGES:
            raise FileError(
                "media_too_large", f"{file.name}: the PDF has {num_pages} pages; at most {MAX_PAGES} are read"
            )
        return num_pages

    def _item(self, file: SourceFile, page: int, num_pages: int, id_: str) -> SourceItem:
        with self._processes.process(file) as process:
            read = process.read(file, page)
        metadata: Metadata = {"path": file.name, "page": page, "num_pages": num_pages}
        num_bytes = len(read.text)
        if self.content == "text":
            if not read.text:
                raise FileError("invalid_record", f"{id_}: {NO_TEXT}")
            version = hashlib.sha256(read.text.encode()).digest()[:VERSION_BYTES]
            return SourceItem(id_, version, num_bytes, read.text, metadata=metadata, content=version, root=file.name)
        version = file.num_bytes.to_bytes(VERSION_BYTES, "big")
        image = PageImage(file, page, read.width_pt, read.height_pt)
        if self.content == "fused":
            return SourceItem(id_, version, num_bytes, read.text or None, image, metadata, file.stamp, root=file.name)
        metadata |= {"text": read.text}
        return SourceItem(id_, version, num_bytes, None, image, metadata, file.stamp, root=file.name)
