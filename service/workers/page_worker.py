"""The process that reads and renders pages of PDF files: PDFium, with access to no network and no file.

`python -m service.workers.page_worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by `service.decode.page_decoder`.
Needs the extra `pdf`.
"""

import base64
import codecs

from schemas.content.examples import EXAMPLE_PDF
from service.media.page.page_file import PageInfo
from service.media.resize.resize import Framing
from service.workers import page_reader, page_text
from service.workers.messages import DecodeEnd, PageTask
from service.workers.serve import serve


def main() -> None:
    """Render until the front closes the socket."""
    pages = Pages()
    serve(PageTask, load_pdfium, lambda task, _: pages.decode(task))


def load_pdfium() -> None:
    """Render one page without text: libraries load parts of themselves at the first use; no font may be among them."""
    codecs.lookup("utf-16-le")  # of PDFium's texts
    encoded = base64.b64decode(EXAMPLE_PDF.partition(",")[2])
    size = (32, 32)
    task = PageTask(encoded=encoded, page=1, scale=1.0, raster_size=size, size=size, framing=Framing((size,)))
    end, _ = Pages().decode(task)
    if not end.num_bytes:
        raise RuntimeError("PDFium cannot render a page")


class Pages:
    """Does tasks, and holds the file that the last one said to keep."""

    def __init__(self) -> None:
        self._pdf: page_reader.OpenPdf | None = None

    def decode(self, task: PageTask) -> tuple[DecodeEnd, memoryview]:
        """Facts about a page and its text, or its pixels; nothing when the file cannot be read."""
        try:
            if task.encoded:
                self._close()
                self._pdf = page_reader.open_pdf(task.encoded)
            return _decoded(task, self._pdf)
        except page_reader.PasswordError:
            return DecodeEnd(num_bytes=0, page=PageInfo(num_pages=0, lacks="password")), memoryview(b"")
        except Exception:  # noqa: BLE001  # PDFium's errors, those of ctypes, and Python's own for want of memory
            return DecodeEnd(num_bytes=0), memoryview(b"")
        finally:
            if not task.keeps:
                self._close()

    def _close(self) -> None:
        if self._pdf is not None:
            self._pdf.close()
            self._pdf = None


def _decoded(task: PageTask, pdf: page_reader.OpenPdf | None) -> tuple[DecodeEnd, memoryview]:
    if pdf is None:
        raise ValueError("no file is kept")
    if task.raster_size != (0, 0):
        pixels = page_reader.render(pdf, task)
        return DecodeEnd(num_bytes=pixels.nbytes), pixels.data.cast("B")
    info, text = page_reader.read_info(pdf, task.page), b""
    if task.num_text_bytes and info.width_pt:
        text = page_text.read_text(pdf, task.page, task.num_text_bytes)
    return DecodeEnd(num_bytes=len(text), page=info), memoryview(text)


if __name__ == "__main__":
    main()
