"""What PDFium reads of a page as text, and a worker that keeps a file for the tasks that follow."""

import pypdfium2
from reportlab.pdfgen.canvas import Canvas

from service.decode import page_reader
from service.decode.messages import PageTask
from service.decode.page_worker import Pages
from tests.pdf_file import pdf, raw, scan

SIZE = 4096
ACCENTED = "\N{LATIN SMALL LETTER E WITH ACUTE}"


def text_of(encoded: bytes, page: int = 1, num_bytes: int = SIZE) -> str:
    read = page_reader.read_text(pypdfium2.PdfDocument(encoded), page, num_bytes)
    assert len(read) == num_bytes
    return read.rstrip(b"\0").decode()


def typeset(canvas: Canvas, number: int) -> None:
    canvas.drawString(72, 700, "The founda-")
    canvas.drawString(72, 686, f"tion of {number} pools,")
    canvas.drawString(72, 660, "and " + ACCENTED + "clairs.")


def test_lines_are_lines_and_hyphenated_words_are_whole() -> None:
    assert text_of(pdf(2, typeset), 2) == "The foundation of 2 pools,\nand " + ACCENTED + "clairs."


def test_a_scan_has_no_text() -> None:
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
