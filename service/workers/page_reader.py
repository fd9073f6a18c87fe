"""Pages of PDF files by PDFium (pypdfium2, the extra `pdf`): sizes and pixels. Runs in a worker's process.

PDFium reads only what a page needs. In a worker it opens no font of the system: what a file does not embed is drawn in
PDFium's own fonts, so that pixels do not depend on what is installed. It draws the fields of forms only for a document
with a form environment, and that must be there before a page is loaded. The environment has no callback and the wheels
have no engine for scripts: a file's actions and scripts are not run.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from service.media.page.page_file import PageInfo
from service.media.resize.resize import frame
from service.workers.messages import PageTask

FORM_VERSION = 2
"""Of `FPDF_FORMFILLINFO`."""


class PasswordError(Exception):
    """The file opens with a password only."""


@dataclass(frozen=True, slots=True)
class OpenPdf:
    """An open file.

    Attributes:
        encoded: its bytes.
        document: PDFium's handle, with a form environment.
    """

    encoded: bytes
    document: pypdfium2.PdfDocument

    @contextmanager
    def page(self, number: int) -> Iterator[pypdfium2.PdfPage]:
        """A page, counted from 1; its contents are read now."""
        opened = self.document[number - 1]
        if _name_fields(self.document, opened):
            opened.close()
            _begin_forms(self.document)
            opened = self.document[number - 1]
        try:
            yield opened
        finally:
            opened.close()

    def close(self) -> None:
        """Give back its memory."""
        self.document.close()


def open_pdf(encoded: bytes) -> OpenPdf:
    """Open a file, which reads where its pages lie.

    Raises:
        PasswordError: it is encrypted.
        pypdfium2.PdfiumError: it is damaged.
    """
    try:
        document = pypdfium2.PdfDocument(encoded)
    except pypdfium2.PdfiumError as error:
        if error.err_code != pdfium.FPDF_ERR_PASSWORD:
            raise
        raise PasswordError from None
    _begin_forms(document)
    return OpenPdf(encoded, document)


def annotations(page: pypdfium2.PdfPage) -> Iterator[tuple[int, Any]]:
    """The annotations of a page with their numbers, the last one first, so that each may be removed."""
    for number in reversed(range(pdfium.FPDFPage_GetAnnotCount(page))):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        try:
            yield number, annotation
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def read_info(pdf: OpenPdf, page: int) -> PageInfo:
    """The number of pages, and the size of one, whose contents are not read; a page that there is not has none."""
    num_pages = len(pdf.document)
    if pdf.document.get_formtype() == pdfium.FORMTYPE_XFA_FULL:
        return PageInfo(num_pages=num_pages, lacks="xfa")
    if not 0 < page <= num_pages:
        return PageInfo(num_pages=num_pages)
    width, height = pdf.document.get_page_size(page - 1)
    return PageInfo(num_pages=num_pages, width_pt=width, height_pt=height)


def render(pdf: OpenPdf, task: PageTask) -> NDArray[np.uint8]:
    """Render a page over white with its fields and annotations, and resize it to uint8 [height, width, 3], C order.

    Raises:
        pypdfium2.PdfiumError: the page is damaged.
        ValueError: the page has another size than it had said.
    """
    with pdf.page(task.page) as page:
        bitmap = page.render(scale=task.scale)  # pyright: ignore[reportArgumentType]  # the default is 1, an int
        try:
            if (bitmap.height, bitmap.width) != task.raster_size:
                raise ValueError("the page has another size")
            image = bitmap.to_pil().convert("RGB")
        finally:
            bitmap.close()
    return frame(image, task.framing, task.size)


def _begin_forms(document: pypdfium2.PdfDocument) -> None:
    """As `init_forms`, but also for fields that belong to no form, and without its warning of XFA on stderr."""
    document.close_forms()
    config = pdfium.FPDF_FORMFILLINFO(version=FORM_VERSION)
    document.formenv = pypdfium2.PdfFormEnv(pdfium.FPDFDOC_InitFormFillEnvironment(document, config), config)


def _name_fields(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> bool:
    """Name the fields that have no name, which PDFium passes over; tell whether there are any.

    A name is optional (ISO 32000-2, table 226).
    """
    has_any = False
    for number, annotation in annotations(page):
        is_field = pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_WIDGET
        if is_field and pdfium.FPDFAnnot_GetFormFieldType(document.formenv, annotation) < 0:
            name = f"unnamed {number}\0".encode("utf-16-le")
            has_any |= not pdfium.FPDFAnnot_HasKey(annotation, b"T") and bool(
                pdfium.FPDFAnnot_SetStringValue(
                    annotation, b"T", (ctypes.c_ushort * (len(name) // 2)).from_buffer_copy(name)
                )
            )
    return has_any
