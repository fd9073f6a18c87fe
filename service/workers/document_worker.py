"""The process that reads documents, with access to no network and no file.

`python -m service.workers.document_worker FORMS SOCKET_FD MAX_MEMORY_BYTES CPU_S`; FORMS are `plain` or, with the extra
`documents`, `office`.
"""

import io
import sys
import zipfile

import msgspec

from service.workers.document_reader import DocumentError, load_encodings, read_document
from service.workers.messages import DecodeEnd, DocumentHead, DocumentTask, DocumentText
from service.workers.serve import serve

DOCX = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "word/document.xml": '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>words</w:t></w:r></w:p></w:body></w:document>",
}
"""The least Word file that is one."""


def main() -> None:
    """Read until the other side closes the socket."""
    reader = DocumentReader()
    serve(DocumentTask, load_office if sys.argv[1] == "office" else load_plain, lambda task, _: reader.read(task))


def load_plain() -> None:
    """Read one text: libraries load parts of themselves at the first use."""
    for encoded in (b"# words\n", b"\xff\xfe", b"\xe9"):
        read_document(encoded, "markdown")


def load_office() -> None:
    """Read one file of each form."""
    load_plain()
    load_encodings()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in DOCX.items():
            archive.writestr(name, content)
    for encoded, form in (
        (b"<meta charset='latin1'><h1>words</h1><table><tr><td>1", "html"),
        (packed.getvalue(), "docx"),
    ):
        read_document(encoded, form)  # type: ignore[arg-type]  # both are forms


class DocumentReader:
    """Does tasks, and holds the text of the last file."""

    def __init__(self) -> None:
        self._text = b""

    def read(self, task: DocumentTask) -> tuple[DecodeEnd, memoryview]:
        """The head of a file's text, then the text."""
        if not task.encoded:
            return DecodeEnd(num_bytes=len(self._text)), memoryview(self._text)
        reason = ""
        try:
            text, headings = read_document(task.encoded, task.form)
            self._text = msgspec.msgpack.encode(DocumentText(text=text, headings=headings))
        except DocumentError as error:
            self._text, reason = b"", str(error)
        except MemoryError:
            self._text, reason = b"", "it takes more memory than the file of a document may"
        head = DocumentHead.packed(len(self._text), reason)
        return DecodeEnd(num_bytes=len(head)), memoryview(head)


if __name__ == "__main__":
    main()
