"""Pages of PDF files by PDFium (pypdfium2, the extra `pdf`): sizes, text and pixels. Runs in a worker's process.

PDFium reads only what a page needs. In a worker it opens no font of the system: what a file does not embed is drawn in
PDFium's own fonts, so that pixels do not depend on what is installed.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from service.decode.messages import PageTask
from service.media.page.page_file import PageInfo
from service.media.resize.resize import frame, resize

HYPHEN = re.compile(r"[\x02\ufffe][\r\n]*")
"""A word's hyphen at the end of a line, as PDFium has it in a text (`IsHyphen` of its cpdf_textpage.cpp)."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""What no store takes, and no writer means."""


class PasswordError(Exception):
    """The file opens with a password only."""


def open_document(encoded: bytes) -> pypdfium2.PdfDocument:
    """Open a file, which reads where its pages lie.

    Raises:
        PasswordError: it is encrypted.
        pypdfium2.PdfiumError: it is damaged.
    """
    try:
        return pypdfium2.PdfDocument(encoded)
    except pypdfium2.PdfiumError as error:
        if error.err_code != pdfium.FPDF_ERR_PASSWORD:
            raise
        raise PasswordError from None


def read_info(document: pypdfium2.PdfDocument, page: int) -> PageInfo:
    """The number of pages, and the size of one; a page that there is not has none.

    Raises:
        pypdfium2.PdfiumError: the page is damaged.
    """
    num_pages = len(document)
    if not 0 < page <= num_pages:
        return PageInfo(num_pages=num_pages)
    with _page(document, page) as one:
        width, height = one.get_size()
    return PageInfo(num_pages=num_pages, width_pt=width, height_pt=height)


def read_text(document: pypdfium2.PdfDocument, page: int, num_bytes: int) -> bytes:
    """The text layer of a page in the file's order: UTF-8, lines ended by LF, hyphenated words joined.

    Args:
        num_bytes: length of the result, which is cut after a whole character and filled up with NUL.

    Raises:
        pypdfium2.PdfiumError: the page is damaged.
    """
    with _page(document, page) as one:
        layer = one.get_textpage()
        try:
            read = layer.get_text_range(count=min(layer.count_chars(), num_bytes), errors="ignore")
        finally:
            layer.close()
    text = CONTROLS.sub("", HYPHEN.sub("", read).replace("\r\n", "\n")).strip()
    return text.encode()[:num_bytes].decode(errors="ignore").encode().ljust(num_bytes, b"\0")


def render(document: pypdfium2.PdfDocument, task: PageTask) -> NDArray[np.uint8]:
    """Render a page over white with its annotations, and resize it to uint8 [height, width, 3], C order.

    Raises:
        pypdfium2.PdfiumError: the page is damaged.
        ValueError: the page has another size than it had said.
    """
    with _page(document, task.page) as page:
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
def _page(document: pypdfium2.PdfDocument, page: int) -> Iterator[pypdfium2.PdfPage]:
    opened = document[page - 1]
    try:
        yield opened
    finally:
        opened.close()
