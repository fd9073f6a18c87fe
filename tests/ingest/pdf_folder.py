"""A folder of PDFs as several writers make them, with broken ones among them."""

from pathlib import Path

from tests.pdf_file import A0, boundless, endless, form, paragraph, pdf, scan, slide

FILES = {
    "reports/letters.pdf": pdf(12),
    "reports/scan.pdf": pdf(4, scan, (612, 792)),
    "forms.PDF": pdf(3, form),
    "slides.pdf": pdf(5, slide, (720, 405)),
    "a0.pdf": pdf(1, paragraph, A0),
    "point.pdf": pdf(1, lambda canvas, _: canvas.rect(0, 0, 1, 1, fill=1), (1, 1)),
}
NUM_PAGES = dict(zip(FILES, (12, 4, 3, 5, 1, 1), strict=True))
BROKEN = {
    "cut.pdf": (pdf(1)[:300], "damaged"),
    "locked.pdf": (pdf(2, password="open sesame"), "encrypted"),
    "other.pdf": (b"PK\x03\x04", "no PDF"),
}
"""Files, and a word of what is said of each."""
WITHOUT_END = {"endless.pdf": endless(), "boundless.pdf": boundless()}
"""Their one page cannot be rendered."""


def fill(folder: Path, *, with_endless: bool = False) -> list[str]:
    """Write the files; the ids of the good pages."""
    broken = {name: content for name, (content, _) in BROKEN.items()}
    for name, content in (FILES | broken | (WITHOUT_END if with_endless else {})).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [f"{name}#page={page}" for name, num_pages in NUM_PAGES.items() for page in range(1, num_pages + 1)]
