"""A PDF falls on the page: its pages are shown, embedded, found by a text, and refused in the server's words."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, LiveServer
from tests.journey.test_pdf_pages import page_part
from tests.pdf_file import pdf
from tests.playground.conftest import Visitor
from tests.playground.test_embedding import png
from tests.playground.test_keyboard import focused, violations
from tests.playground.test_second_stage import BOTH, QUERY, put_in_order, shown
from tests.playground.truth import cosines
from tests.playground.visit import Visit, sample

SCENES = ("red-circle-blue-square", "three-green-stars", "yellow-ring-purple-cross-black-triangle")


def scene(canvas: Canvas, number: int) -> None:
    """One of the built-in model's sample images over the whole page."""
    image = ImageReader(io.BytesIO(sample(SCENES[number - 1])))
    canvas.drawImage(image, 0, 0, *canvas._pagesize)


REPORT = pdf(3, scene, (400, 400))


@pytest.fixture(scope="module")
def pair(start_server: Callable[..., LiveServer]) -> LiveServer:
    """The built-in embedder and reranker."""
    return start_server(*BOTH).wait_until_ready()


@pytest.fixture
def visit(visitor: Visitor, pair: LiveServer) -> Iterator[Visit]:
    with visitor(pair) as visit:
        yield visit.until_the_model_is_there()


def let_in(visit: Visit, file: bytes = REPORT, said: str = "3 pages of report.pdf added.") -> None:
    visit.let_fall(("report.pdf", file))
    visit.until_said(said)


def test_pages_are_shown_and_have_the_vectors_of_the_file(visit: Visit) -> None:
    let_in(visit)
    images = visit.page.get_by_role("list", name="report.pdf").locator("img")
    assert images.count() == 3
    assert images.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 100)")
    visit.type_texts("green stars", "red and blue")
    visit.embed()
    parts = [{"content": [page_part(REPORT, page)]} for page in (1, 2, 3)]
    texts = [{"content": [{"type": "text", "text": text}]} for text in ("green stars", "red and blue")]
    vectors = visit.server.vectors({"inputs": parts + texts, "model": "search"})
    assert np.abs(visit.matrix() - cosines(vectors)).max() < 6e-5
    heads = visit.page.locator("#heat tbody th").all_inner_texts()
    assert [f"page {i + 1} of report.pdf" in head for i, head in enumerate(heads[:3])] == [True] * 3
    assert violations(visit) == []


def test_a_query_finds_the_page_that_shows_it(visit: Visit) -> None:
    let_in(visit)
    put_in_order(visit, QUERY)
    assert [order[0][0] for order in shown(visit)] == ["page 2 of report.pdf"] * 2


def test_a_page_is_looked_at_and_taken_away_by_the_keyboard(visit: Visit) -> None:
    let_in(visit)
    visit.page.focus("#add-images")
    stops = []
    for _ in range(3):
        visit.page.keyboard.press("Tab")
        stops.append(focused(visit))
    assert stops == ["Remove all pages of report.pdf", "Look at page 1 of report.pdf", "Remove page 1 of report.pdf"]
    visit.page.keyboard.press("Shift+Tab")
    visit.page.keyboard.press("Enter")
    dialog = visit.page.get_by_role("dialog", name="page 1 of report.pdf")
    expect(dialog).to_contain_text("rendered for the model: 128 × 128 pixels")
    assert violations(visit) == []
    visit.page.keyboard.press("Escape")
    expect(visit.page.locator("dialog")).to_have_count(0)
    assert focused(visit) == "Look at page 1 of report.pdf"
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    assert visit.page.locator(".pages .middle").all_inner_texts() == ["2", "3"]
    assert "2 of 3 pages" in visit.page.inner_text("#items .pdf")
    visit.page.get_by_role("button", name="Remove all pages").press("Enter")
    assert visit.page.locator("#items li").count() == 0


def test_of_a_long_file_the_first_pages_come_and_the_page_says_so(visit: Visit) -> None:
    let_in(visit, pdf(26), "The first 24 of 26 pages of report.pdf added.")
    assert visit.page.locator(".pages img").count() == 24
    visit.page.set_viewport_size({"width": 390, "height": 844})
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_file_that_cannot_be_read_is_named_and_the_others_come(visit: Visit) -> None:
    visit.expects_refusals = True
    visit.let_fall(("one.png", png(7401)), ("secret.pdf", pdf(1, password="open sesame")), ("report.pdf", REPORT))
    visit.until_said("1 image, 3 pages of report.pdf added.")
    told = visit.page.inner_text("#error")
    assert told.startswith("secret.pdf: The PDF is encrypted")
    assert "media_undecodable" in told
    assert visit.page.locator("#items .name").all_inner_texts() == ["one.png", "report.pdf"]
    let_in(visit, pdf(1), "1 page of report.pdf added.")
    assert not visit.page.is_visible("#error")


def test_a_server_without_the_extra_says_so_and_offers_images_alone(
    visitor: Visitor, start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pypdfium2' else find(name, *rest)\n"
    )
    server = start_server("--model", str(CHECKPOINT), env=customized_environ(tmp_path)).wait_until_ready()
    with visitor(server) as visit:
        visit.until_the_model_is_there()
        assert visit.page.inner_text("#add-images") == "Add images"
        visit.let_fall(("report.pdf", REPORT))
        expect(visit.page.locator("#error")).to_contain_text(
            "report.pdf: this server cannot read PDFs without its extra"
        )
        assert visit.page.locator("#items li").count() == 0
