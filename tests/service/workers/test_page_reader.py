"""Text that PDFium reads of a page, and a worker that keeps a file for the tasks that follow."""

import numpy as np
import pytest
from numpy.typing import NDArray
from reportlab.pdfgen.canvas import Canvas

from service.media.resize.resize import Framing
from service.workers import page_reader, page_text
from service.workers.messages import PageTask
from service.workers.page_worker import Pages
from tests.pdf_file import APPEARS, NEEDS_APPEARANCES, TYPED, annotated, pdf, raw, scan

SIZE = 4096
ACCENTED = "\N{LATIN SMALL LETTER E WITH ACUTE}"


def text_of(encoded: bytes, page: int = 1, num_bytes: int = SIZE) -> str:
    read = page_text.read_text(page_reader.open_pdf(encoded), page, num_bytes)
    assert len(read) == num_bytes
    return read.rstrip(b"\0").decode()


def typeset(canvas: Canvas, number: int) -> None:
    canvas.drawString(72, 700, "The founda-")
    canvas.drawString(72, 686, f"tion of {number} pools,")
    canvas.drawString(72, 660, "and " + ACCENTED + "clairs.")


def test_lines_are_lines_hyphenated_words_are_whole_and_a_scan_has_no_text() -> None:
    assert text_of(pdf(2, typeset), 2) == "The foundation of 2 pools,\nand " + ACCENTED + "clairs."
    assert text_of(pdf(1, scan)) == ""


def test_what_a_file_writes_between_letters_is_left_out() -> None:
    contents = b"BT /F1 12 Tf 72 700 Td (a\\000\\001\\033b\\021c) Tj ET"
    font = b"/Type/Font/Subtype/Type1/BaseFont/Helvetica"
    assert set(text_of(raw([contents, b""], drawn=font, named=b"Font"))) == set("abc")


def test_a_long_text_is_cut_after_a_whole_character() -> None:
    text = text_of(pdf(1, lambda canvas, _: canvas.drawString(72, 700, ACCENTED * 40)), 1, 33)
    assert text == ACCENTED * 16


def test_a_worker_keeps_the_file_that_it_is_told_to_until_the_next() -> None:
    pages, first, second = Pages(), pdf(3), pdf(7)

    def num_pages(encoded: bytes, *, keeps: bool) -> int | None:
        end, _ = pages.decode(PageTask(encoded=encoded, keeps=keeps, page=0))
        return None if end.page is None else end.page.num_pages

    assert num_pages(first, keeps=True) == 3
    assert num_pages(b"", keeps=True) == 3
    assert num_pages(second, keeps=True) == 7
    end, text = pages.decode(PageTask(encoded=b"", keeps=False, page=6, num_text_bytes=SIZE))
    assert end.num_bytes == SIZE
    assert bytes(text).startswith(b"Page 6, line 0")
    assert num_pages(b"", keeps=False) is None, "it was not told to keep the file"
    assert num_pages(first[:300], keeps=True) is None
    assert num_pages(b"", keeps=True) is None, "that file was none"


def pixels_of(encoded: bytes) -> NDArray[np.uint8]:
    task = PageTask(
        encoded=b"", page=1, scale=1.0, raster_size=(200, 400), size=(200, 400), framing=Framing(((200, 400),))
    )
    return page_reader.render(page_reader.open_pdf(encoded), task)


FIELD = b"/Subtype/Widget/F 4"
FORM = b"/AcroForm<</Fields[6 0 R]>>"
FILLED = {
    "with an appearance": lambda value: annotated(FIELD + TYPED % value + APPEARS, value, FORM),
    "without one": lambda value: annotated(FIELD + TYPED % value, b"", NEEDS_APPEARANCES),
    "with an old one": lambda value: annotated(FIELD + TYPED % value + APPEARS, b"before", NEEDS_APPEARANCES),
    "of no form": lambda value: annotated(FIELD + TYPED % value + APPEARS, value),
    "chosen": lambda value: annotated(
        FIELD + b"/FT/Ch/Ff 131072/Opt[(PAID)(DUE 9310)]/DA(/Helv 24 Tf 0 g)/V(%s)" % value, b"", NEEDS_APPEARANCES
    ),
    "signed": lambda value: annotated(FIELD + b"/FT/Sig" + APPEARS, value, FORM),
    "a note": lambda value: annotated(b"/Subtype/FreeText/F 4/DA(/Helv 24 Tf 0 g)/Contents(%s)" % value),
    "a stamp": lambda value: annotated(b"/Subtype/Stamp/F 4" + APPEARS, value),
}


@pytest.mark.parametrize("name", FILLED)
def test_what_is_filled_in_is_drawn_and_is_in_the_text(name: str) -> None:
    first, second = FILLED[name](b"PAID"), FILLED[name](b"DUE 9310")
    assert text_of(first) == "Invoice\nPAID"
    assert text_of(second) == "Invoice\nDUE 9310"
    assert (pixels_of(first) != pixels_of(second)).any()


HIDDEN = {
    "hidden": annotated(FIELD.replace(b"4", b"2") + TYPED % b"x" + APPEARS, b"x", FORM),
    "printed only": annotated(FIELD.replace(b"4", b"36") + TYPED % b"x" + APPEARS, b"x", FORM),
    "a pop-up": annotated(b"/Subtype/Popup/Open true" + APPEARS, b"x"),
    "outside of the page": annotated(b"/Subtype/Link", more=b" BT /Helv 18 Tf 20 -50 Td (x) Tj ET"),
    "a script": annotated(
        b"/Subtype/Link", b"", b"/OpenAction<</S/JavaScript/JS(this.addField\\(1\\))>>/AA<</WC<</S/Launch/F(x)>>>>"
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_a_page_does_not_show_is_neither_drawn_nor_in_its_text(name: str) -> None:
    assert text_of(HIDDEN[name]) == "Invoice"
    assert (pixels_of(HIDDEN[name]) == pixels_of(annotated(b"/Subtype/Link"))).all()


def test_text_that_is_cropped_away_is_left_out() -> None:
    file = annotated(b"/Subtype/Link", page=b"/CropBox[0 100 400 200]", more=b" BT /Helv 18 Tf 20 20 Td (below) Tj ET")
    assert text_of(file) == "Invoice"


def test_a_text_that_was_read_leaves_the_page_as_it_was() -> None:
    pdf, task = (
        page_reader.open_pdf(FILLED["without one"](b"PAID")),
        PageTask(
            encoded=b"", page=1, scale=1.0, raster_size=(200, 400), size=(200, 400), framing=Framing(((200, 400),))
        ),
    )
    before = page_reader.render(pdf, task)
    page_text.read_text(pdf, 1, SIZE)
    assert (page_reader.render(pdf, task) == before).all()


def test_a_form_that_only_a_script_could_draw_is_named() -> None:
    catalog = b"/NeedsRendering true/AcroForm<</Fields[6 0 R]/XFA[]>>"
    dynamic, both = (
        annotated(FIELD + TYPED % b"x" + APPEARS, b"x", one)
        for one in (catalog, catalog.removeprefix(b"/NeedsRendering true"))
    )
    assert [page_reader.read_info(page_reader.open_pdf(one), 1).lacks for one in (dynamic, both)] == ["xfa", ""]
