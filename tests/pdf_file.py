"""PDF files as several writers make them, and as none should."""

import io
import zlib
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

Draw = Callable[[Canvas, int], None]

A0 = (2384.0, 3370.0)
"""Points."""


def pdf(num_pages: int = 3, draw: Draw | None = None, size: tuple[float, float] = A4, password: str = "") -> bytes:
    """A file of so many pages; by default each is a paragraph with its number."""
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=size, encrypt=StandardEncryption(password) if password else None, invariant=True)
    for number in range(1, num_pages + 1):
        (draw or paragraph)(canvas, number)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def paragraph(canvas: Canvas, number: int) -> None:
    """Lines of text and a rule below, as a typesetter has them."""
    width, height = canvas._pagesize
    canvas.setFont("Times-Roman", 11)
    for line in range(30):
        canvas.drawString(
            72, height - 72 - 14 * line, f"Page {number}, line {line}: the quick brown fox {number * line}."
        )
    canvas.line(72, 60, width - 72, 60)


def scan(canvas: Canvas, number: int) -> None:
    """One image over the whole page, turned."""
    noise = np.random.default_rng(number).integers(0, 256, (22, 17, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).resize((170, 220), Image.Resampling.BICUBIC)
    canvas.setPageRotation(90)
    canvas.drawImage(ImageReader(picture), 0, 0, *canvas._pagesize)


def form(canvas: Canvas, number: int) -> None:
    """Fields that can be filled in: annotations with their own appearance."""
    canvas.drawString(72, 700, f"Form {number}")
    canvas.acroForm.textfield(name=f"name{number}", x=72, y=640, width=200, height=24, value="filled in")
    canvas.acroForm.checkbox(name=f"box{number}", x=72, y=600, checked=True)


def slide(canvas: Canvas, number: int) -> None:
    """Colors, transparency, and large letters."""
    canvas.setFillColorRGB(0.1, 0.2, 0.5)
    canvas.rect(0, 0, *canvas._pagesize, fill=1)
    canvas.setFillColorRGB(1, 0.8, 0.2, alpha=0.5)
    canvas.circle(200 + 20 * number, 200, 120, fill=1)
    canvas.setFont("Helvetica-Bold", 48)
    canvas.drawString(100, 400, f"Slide {number}")


FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]"
"""Contents that another draws by `/F1 Do`."""


LETTER = b"0 0 612 792"


def raw(
    contents: Sequence[bytes],
    media_box: bytes = LETTER,
    *,
    drawn: bytes = FORM,
    named: bytes = b"XObject",
) -> bytes:
    """A file of one page by hand; `contents[0]` is drawn, and `/F1` ... are the others, which all may draw.

    Args:
        drawn: what they are, entries of a stream's dictionary.
        named: the kind of resource that they are.
    """
    num = len(contents)
    names = b" ".join(b"/F%d %d 0 R" % (i, 4 + i) for i in range(1, num))
    resources = b"/Resources<</%s<<%s>>>>" % (named, names)
    return _written(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 4 0 R%s>>" % (media_box, resources),
            _stream(contents[0]),
            *(_stream(body, drawn + resources) for body in contents[1:]),
        ]
    )


def _stream(body: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(body), body)


def _written(objects: Sequence[bytes]) -> bytes:
    """A file of numbered objects; the first is its catalog."""
    out, offsets = b"%PDF-1.7\n", []
    for number, one in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start, size = len(out), len(objects) + 1
    end = b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


HELVETICA = b"/Resources<</Font<</Helv 5 0 R>>>>"
TYPED = b"/FT/Tx/T(total)/DA(/Helv 24 Tf 0 g)/V(%s)"
"""A text field's entries, with its value."""
NEEDS_APPEARANCES = b"/AcroForm<</Fields[6 0 R]/NeedAppearances true/DR<</Font<</Helv 5 0 R>>>>/DA(/Helv 24 Tf 0 g)>>"
APPEARS = b"/AP<</N 7 0 R>>"


def annotated(
    annotation: bytes, shown: bytes = b"", catalog: bytes = b"", page: bytes = b"", more: bytes = b""
) -> bytes:
    """A page that says "Invoice", with one annotation.

    Args:
        annotation: its entries but for the place, 360 by 50 points.
        shown: text of its appearance; it has one if `annotation` says so (`APPEARS`).
        catalog: entries of the file's.
        page: entries of the page's.
        more: what the page draws besides.
    """
    text = b"BT /Helv 24 Tf 4 14 Td (%s) Tj ET"
    return _written(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents 4 0 R/Annots[6 0 R]%s%s>>" % (HELVETICA, page),
            _stream(b"BT /Helv 18 Tf 20 160 Td (Invoice) Tj ET" + more),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            b"<</Type/Annot/Rect[20 80 380 130]/P 3 0 R%s>>" % annotation,
            _stream(text % shown, b"/Type/XObject/Subtype/Form/BBox[0 0 360 50]" + HELVETICA),
        ]
    )


def boundless(num_levels: int = 12, num_each: int = 10) -> bytes:
    """A page whose forms draw the next one ten times each: 10^12 rectangles in a kilobyte, all held in memory."""
    levels = [b" ".join([b"/F%d Do" % (level + 1)] * num_each) for level in range(num_levels)]
    return raw([*levels, b"0 0 600 700 re f"])


def endless(media_box: bytes = LETTER) -> bytes:
    """A page under a pattern of 10^15 tiles: time without end, in little memory."""
    tile = b"/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep 0.00001/YStep 0.00001"
    return raw([b"/Pattern cs /F1 scn 0 0 600 700 re f", b"0 0 1 1 re f"], media_box, drawn=tile, named=b"Pattern")


def winding(num_lines: int = 2_000_000) -> bytes:
    """A page with a path of so many lines, in kilobytes that take some 50 bytes of memory for each."""
    path = b"0 0 m\n" + b"612 792 l 0 9 l\n" * (num_lines // 2) + b"B*"
    return raw([b"/F1 Do", zlib.compress(path, 9)], drawn=FORM + b"/Filter/FlateDecode")
