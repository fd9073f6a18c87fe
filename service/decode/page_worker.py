"""The process that renders pages of PDF files: PDFium, with access to no network and no file.

`python -m service.decode.page_worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by `service.decode.page_decoder`.
Needs the extra `pdf`.
"""

import base64

from schemas.content.examples import EXAMPLE_PDF
from service.decode import page_reader
from service.decode.messages import DecodeEnd, PageTask
from service.decode.serve import serve


def main() -> None:
    """Render until the front closes the socket."""
    serve(PageTask, load_pdfium, decode)


def load_pdfium() -> None:
    """Render one page without text: libraries load parts of themselves at the first use; no font may be among them."""
    encoded = base64.b64decode(EXAMPLE_PDF.partition(",")[2])
    page_reader.read_info(encoded, 1)
    page_reader.render(PageTask(encoded=encoded, page=1, scale=1.0, raster_size=(32, 32), size=(32, 32)))


def decode(task: PageTask) -> tuple[DecodeEnd, memoryview]:
    """Facts about a page, or its pixels; neither when the file cannot be read."""
    try:
        if task.raster_size == (0, 0):
            return DecodeEnd(num_bytes=0, page=page_reader.read_info(task.encoded, task.page)), memoryview(b"")
        pixels = page_reader.render(task)
    except Exception:  # noqa: BLE001  # PDFium's errors, those of ctypes, and Python's own for want of memory
        return DecodeEnd(num_bytes=0), memoryview(b"")
    return DecodeEnd(num_bytes=pixels.nbytes), pixels.data.cast("B")


if __name__ == "__main__":
    main()
