"""A document in a process that can be killed: its text as Markdown, and its headings."""

import hashlib

import msgspec

from service.ingest.errors import FileError
from service.ingest.files.file_processes import FileProcess, FileProcesses
from service.ingest.files.source_file import SourceFile, open_regular
from service.workers.messages import HEAD_BYTES, DocumentForm, DocumentHead, DocumentTask, DocumentText
from service.workers.programs import DOCUMENTS, has_documents
from service.workers.worker_process import WorkerProcess

MAX_DOCUMENT_BYTES = 64 << 20
"""Largest file."""
DEADLINE_S = 20.0
"""Of reading a file."""
UNREADABLE = "The document cannot be read."
FORMS: dict[str, DocumentForm] = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".docx": "docx",
}
"""By suffix."""
PLAIN: tuple[DocumentForm, ...] = ("text", "markdown")
"""Forms that need no library."""


class DocumentProcess(FileProcess):
    """A process that reads documents."""

    what = "document"
    unreadable = UNREADABLE

    def __init__(self, libraries: str) -> None:
        """`libraries` are `plain` or `office`."""
        self.command = (*DOCUMENTS, libraries)  # type: ignore[misc]  # one class for two programs
        super().__init__(DEADLINE_S)
        self._num_bytes = 0

    def text(self, file: SourceFile) -> DocumentText:
        """The text of a file."""
        return self.ask(file, file.name, DEADLINE_S, lambda worker: self._text(worker, file))

    def open(self, worker: WorkerProcess, file: SourceFile) -> bytes:
        """Have a process read a file; return the digest of its content."""
        encoded = _content(file)
        if not encoded:
            raise FileError("invalid_record", f"{file.name}: the file is empty")
        form = FORMS.get(file.path.suffix.lower(), "text")
        _, sent = worker.exchange(DocumentTask(encoded=encoded, form=form), HEAD_BYTES, DEADLINE_S)
        try:
            head = DocumentHead.unpacked(sent.tobytes())
        except msgspec.MsgspecError:
            self.refuse(file.name, UNREADABLE)
        if head.reason:
            self.refuse(file.name, f"{UNREADABLE[:-1]}: {head.reason}.")
        self._num_bytes = head.num_bytes
        return hashlib.sha256(encoded).digest()

    def _text(self, worker: WorkerProcess, file: SourceFile) -> DocumentText:
        _, sent = worker.exchange(DocumentTask(encoded=b""), self._num_bytes, DEADLINE_S)
        try:
            return msgspec.msgpack.decode(sent.tobytes(), type=DocumentText)
        except msgspec.MsgspecError:
            self.refuse(file.name, UNREADABLE)


class DocumentProcesses(FileProcesses[DocumentProcess]):
    """One for each core, and two at least, of plain texts or of those that need libraries."""

    def __init__(self, *, are_plain: bool) -> None:
        super().__init__(
            lambda: DocumentProcess("plain" if are_plain else "office"),
            lambda: are_plain or has_documents(),
            ("mammoth or markdownify", "documents"),
        )


def _content(file: SourceFile) -> bytes:
    try:
        with open_regular(file.path) as opened:
            encoded = opened.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise FileError("unreadable_file", f"{file.name}: {error.strerror}") from None
    if len(encoded) > MAX_DOCUMENT_BYTES:
        raise FileError(
            "media_too_large",
            f"{file.name}: the document has {file.num_bytes} bytes; at most {MAX_DOCUMENT_BYTES} are read",
        )
    return encoded
