"""The bar of pages: 200 of many writers with three kills, each once; 3,000 of one file in flat memory."""

import random
from pathlib import Path

import numpy as np
from reportlab.pdfgen.canvas import Canvas

from tests.conftest import LiveServer
from tests.ingest.pdf_folder import BROKEN, WITHOUT_END, fill
from tests.ingest.program import Program, by_id, lines
from tests.pdf_file import pdf, slide

NUM_BOOKS, BOOK_PAGES = 6, 30
NUM_KILLS = 3
NUM_PAGES = 3000
MAX_GROWTH_BYTES = 32 << 20
"""Of the program and its PDF processes, from the first quarter of what it writes to the last."""


def book(seed: int) -> bytes:
    """Pages that no other book has: letters over a drawing."""

    def draw(canvas: Canvas, number: int) -> None:
        shades = np.random.default_rng((seed, number)).random((12, 5))
        for x, y, red, green, blue in shades:
            canvas.setFillColorRGB(red, green, blue)
            canvas.rect(60 + 400 * x, 60 + 600 * y, 80, 60, fill=1)
        canvas.setFillColorRGB(0, 0, 0)
        canvas.drawString(72, 760, f"Book {seed}, page {number}")

    return pdf(BOOK_PAGES, draw)


def test_killed_three_times_every_page_is_there_once_and_every_failure_named(live: LiveServer, tmp_path: Path) -> None:
    folder, sink = tmp_path / "in", tmp_path / "out.jsonl"
    ids = fill(folder, with_endless=True)
    for seed in range(NUM_BOOKS):
        (folder / f"book{seed}.pdf").write_bytes(book(seed))
    ids += [f"book{seed}.pdf#page={page}" for seed in range(NUM_BOOKS) for page in range(1, BOOK_PAGES + 1)]
    assert len(ids) > 200
    encoded = live.metric("cenote_vision_encodes_total")
    arguments = (folder, "--to", sink, "--server", live.url, "--batch-inputs", "8")
    for least in sorted(random.sample(range(1, len(ids) - 40), NUM_KILLS)):
        Program(*arguments).kill_when(lambda least=least: sink.exists() and sink.read_bytes().count(b"\n") >= least)
    end = Program(*arguments).end(3)
    assert end["failed"] == len(BROKEN) + len(WITHOUT_END)
    found = [line["id"] for line in lines(sink)]
    assert sorted(found) == sorted(ids)
    assert live.metric("cenote_vision_encodes_total") - encoded == len(ids)
    letters = by_id(tmp_path / "out.jsonl.dead.jsonl")
    assert set(letters) == {*BROKEN, *(f"{name}#page=1" for name in WITHOUT_END)}
    assert {letter["code"] for letter in letters.values()} == {"media_undecodable"}


def test_memory_of_3000_pages_is_flat(live: LiveServer, tmp_path: Path) -> None:
    file, sink = tmp_path / "long.pdf", tmp_path / "out.jsonl"
    file.write_bytes(pdf(NUM_PAGES, slide, (240, 160)))
    run = Program(file, "--to", sink, "--server", live.url, "--dimensions", "32")
    growth = run.growth(lambda: sink.stat().st_size if sink.exists() else 0)
    assert run.end()["points"] == NUM_PAGES
    assert len({line["id"] for line in lines(sink)}) == NUM_PAGES
    assert growth < MAX_GROWTH_BYTES
