"""Pages of PDF files by PDFium (pypdfium2, the extra `pdf`): sizes, and pixels. Runs in a worker's process.

PDFium reads only what a page needs. In a worker it opens no font of the system: what a file does not embed is drawn in
PDFium's own fonts, so that pixels do not depend on what is installed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from service.decode.messages import PageTask
from service.media.page.page_file import PageInfo
from service.media.resize.resize import frame, resize


def read_info(encoded: bytes, page: int) -> PageInfo:
    """The number of pages, and the size of one.

    Raises:
        pypdfium2.PdfiumError: the file is damaged.
    """
    try:
        with _opened(encoded) as document:
            num_pages = len(document)
            if page > num_pages:
                return PageInfo(num_pages=num_pages)
            with _page(document, page) as one:
                width, height = one.get_size()
            return PageInfo(num_pages=num_pages, width_pt=width, height_pt=height)
    except pypdfium2.PdfiumError as error:
        if error.err_code != pdfium.FPDF_ERR_PASSWORD:
            raise
        return PageInfo(num_pages=0, needs_password=True)


def render(task: PageTask) -> NDArray[np.uint8]:
    """Render a page over white with its annotations, and resize it to uint8 [height, width, 3], C order.

    Raises:
        pypdfium2.PdfiumError: the file is damaged.
        ValueError: the page has another size than it had said.
    """
    with _opened(task.encoded) as document, _page(document, task.page) as page:
        bitmap = page.render(scale=task.scale)  # pyright: ignore[reportArgumentType]  # the default is 1, an int
        try:
            if (bitmap.height, bitmap.width) != task.raster_size:
                raise ValueError("the page has another size")
            image = bitmap.to_pil().convert("RGB")
        finally:
            bitmap.close()
    pixels = resize(image, task.size) if task.framing is None else frame(image, task.framing, task.size)
    return np.ascontiguousarray(pixels)


@contextmanager
def _opened(encoded: bytes) -> Iterator[pypdfium2.PdfDocument]:
    document = pypdfium2.PdfDocument(encoded)
    try:
        yield document
    finally:
        document.close()


@contextmanager
def _page(document: pypdfium2.PdfDocument, page: int) -> Iterator[pypdfium2.PdfPage]:
    opened = document[page - 1]
    try:
        yield opened
    finally:
        opened.close()
