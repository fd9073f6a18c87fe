"""Documents: each is an item, whose text is Markdown and knows where its headings stand.

Metadata are `path` and, of a whole document or a chunk, the `headings` that it stands under.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from service.ingest.errors import FailureReason, FileError
from service.ingest.files.document_process import FORMS, PLAIN, DocumentProcesses
from service.ingest.files.source_file import SourceFile, find
from service.ingest.item import VERSION_BYTES, BadRecord, DocumentSection, SourceItem
from service.ingest.sources.files import FileItems


class DocumentFiles(FileItems):
    """Reads files one after the other."""

    counted_bytes = 0

    def __init__(self, processes: DocumentProcesses) -> None:
        super().__init__(processes)
        self._processes = processes

    def items(self, path: Path, name: str) -> Iterator[SourceItem | BadRecord]:
        """Yield the document; one that cannot be read, or has no text, is a bad record."""
        try:
            file = find(path, name)
            with self._processes.process(file) as process:
                found = process.text(file)
        except FileError as error:
            yield BadRecord(name, error.reason)
            return
        if not found.text.strip():
            yield BadRecord(name, FailureReason("invalid_record", f"{name}: there is no text in it"))
            return
        version = hashlib.sha256(found.text.encode(errors="surrogatepass")).digest()[:VERSION_BYTES]
        sections = tuple(sections_of(found.text, found.headings))
        metadata = {"path": name}
        num_bytes = len(found.text)
        yield SourceItem(name, version, num_bytes, found.text, metadata=metadata, content=version, sections=sections)

    def num_items(self, file: SourceFile) -> int:
        """One."""
        return 1

    def count(self, paths: Sequence[Path]) -> int:
        """As many as there are files."""
        return len(paths)


class Documents:
    """The readers of documents: those of plain texts need no library, the others the extra `documents`.

    Attributes:
        by_suffix: who reads the files of a suffix.
    """

    def __init__(self) -> None:
        self._processes = [DocumentProcesses(are_plain=are_plain) for are_plain in (True, False)]
        plain, office = map(DocumentFiles, self._processes)
        self.by_suffix: Mapping[str, DocumentFiles] = {
            suffix: plain if form in PLAIN else office for suffix, form in FORMS.items()
        }

    def close(self) -> None:
        """End the processes."""
        for each in self._processes:
            each.close()


def sections_of(text: str, headings: Sequence[tuple[int, int, str]]) -> Iterator[DocumentSection]:
    """The sections of a text with `headings`: where each begins, its level and its words.

    A heading under which nothing stands before the next one is no section: it belongs to the one that follows.
    """
    path: list[tuple[int, str]] = []
    start = 0
    for number, (at, level, words) in enumerate(headings):
        if number == 0 and text[:at].strip():
            yield DocumentSection(0, ())
            start = at
        path = [*(outer for outer in path if outer[0] < level), (level, words)]
        end = headings[number + 1][0] if number + 1 < len(headings) else len(text)
        _, _, body = text[at:end].strip().partition("\n")
        if body.strip(" \n=-"):
            yield DocumentSection(start, tuple(words for _, words in path))
            start = end
    if start < len(text):  # no heading at all, or nothing under the last one
        yield DocumentSection(start, tuple(words for _, words in path))
