"""The text that a page of a PDF shows, by PDFium: its contents, what fields are filled with, notes and stamps on it.

PDFium's text layer is that of the contents alone, inside and outside of the page's edges. What fields and annotations
show becomes contents when a page is flattened; that is done to a second copy of the document, since it changes the
page. Layers that are switched off are read like the others: PDFium does not tell them apart in a text.
"""

import re
from contextlib import closing

import pypdfium2
import pypdfium2.raw as pdfium

from service.workers.page_reader import OpenPdf, annotations, open_pdf

HYPHEN = re.compile(r"[\x02\ufffe][\r\n]*")
"""A word's hyphen at the end of a line, as PDFium has it in a text (`IsHyphen` of its cpdf_textpage.cpp)."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that no store accepts and no author means."""

UNSEEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
WITHOUT_TEXT = (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP)
"""Annotations that show none; those of most pages are links."""


def read_text(pdf: OpenPdf, page: int, num_bytes: int) -> bytes:
    """The text that a page shows, in the file's order: UTF-8, lines ended by LF, hyphenated words joined.

    Args:
        num_bytes: length of the result, which is cut after a whole character and filled up with NUL.
    """
    with pdf.page(page) as one:
        shows_annotations = any(pdfium.FPDFAnnot_GetSubtype(note) not in WITHOUT_TEXT for _, note in annotations(one))
        read = None if shows_annotations else _layer(one, num_bytes)
    if read is None:
        with closing(open_pdf(pdf.encoded)) as copy:
            with copy.page(page) as one:
                _flatten(one)
            with copy.page(page) as one:
                read = _layer(one, num_bytes)
    text = CONTROLS.sub("", HYPHEN.sub("", read).replace("\r\n", "\n")).strip()
    return text.encode()[:num_bytes].decode(errors="ignore").encode().ljust(num_bytes, b"\0")


def _layer(page: pypdfium2.PdfPage, num_chars: int) -> str:
    """At most so much of the text; of a page with text beyond its edges only what is inside."""
    layer = page.get_textpage()
    try:
        left, bottom, right, top = page.get_bbox()
        for number in range(layer.count_rects()):
            one = layer.get_rect(number)
            if not (left <= (one[0] + one[2]) / 2 <= right and bottom <= (one[1] + one[3]) / 2 <= top):
                return str(layer.get_text_bounded(left, bottom, right, top, errors="ignore"))
        return str(layer.get_text_range(count=min(layer.count_chars(), num_chars), errors="ignore"))
    finally:
        layer.close()


def _flatten(page: pypdfium2.PdfPage) -> None:
    """Make contents of what fields and annotations show; the page is to be loaded again."""
    for number, one in annotations(page):
        is_unseen = pdfium.FPDFAnnot_GetFlags(one) & UNSEEN  # PDFium would show what is only printed
        if is_unseen or pdfium.FPDFAnnot_GetSubtype(one) in WITHOUT_TEXT:
            pdfium.FPDFPage_RemoveAnnot(page, number)
    if pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_FAIL:
        raise pypdfium2.PdfiumError("the page cannot be flattened")
