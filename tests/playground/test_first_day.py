"""What somebody tries first: one text, lines of a file, a reload, and each model that is served by default."""

import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.conftest import LiveServer, from_base64
from tests.playground.conftest import Visitor
from tests.playground.test_keyboard import violations
from tests.playground.truth import cosines
from tests.playground.visit import Visit

TEXT_MODEL = "all-MiniLM-L6-v2"
LINES = [f"{one} {two}" for one in ("red", "green", "old", "new", "small") for two in map(str, range(60))]


@pytest.fixture(scope="module")
def unnamed(start_server: Callable[..., LiveServer]) -> LiveServer:
    """The models of `make serve`."""
    return start_server(names_a_model=False).wait_until_ready()


@pytest.fixture
def visit(visitor: Visitor, unnamed: LiveServer) -> Iterator[Visit]:
    with visitor(unnamed) as visit:
        yield visit.until_the_model_is_there()


@pytest.mark.parametrize("width", [1360, 390])
def test_one_text_of_two_lines_shows_its_vector_and_the_answer(visit: Visit, width: int) -> None:
    page = visit.page
    page.set_viewport_size({"width": width, "height": 844})
    page.focus("#add-text")
    page.keyboard.press("Enter")
    for keys in ("first line", "Shift+Enter", "second line"):
        page.keyboard.press(keys) if "+" in keys else page.keyboard.type(keys)
    page.keyboard.press("Control+Enter")
    visit.until_said("1 vector in 1 request.")
    expected = visit.server.vectors({"model": TEXT_MODEL, "input": "first line\nsecond line"})[0]
    assert page.inner_text("#vector .told") == "384 numbers, of length 1.0000"
    assert violations(visit) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Copy the vector").press("Enter")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert np.array_equal(np.array(copied, np.float32), expected)
    page.get_by_role("button", name="Copy the answer").press("Enter")
    answer = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert np.array_equal(np.array(answer["data"][0]["embedding"], np.float32), expected)
    expect(page.get_by_label("Answer", exact=True)).to_contain_text("… 384 numbers]")


def test_two_texts_are_compared_without_an_order(visit: Visit) -> None:
    visit.type_texts("a bicycle", "a bike")
    visit.embed()
    assert visit.page.locator("#row option").count() == 2
    for part in ("heat", "map", "cost"):
        assert not visit.page.is_visible(f"#{part}-part")


def test_the_samples_of_a_text_model_are_texts_and_the_query_finds_its_own(visit: Visit) -> None:
    visit.try_samples()
    assert not visit.page.is_visible("#images-part")
    assert not visit.page.is_visible("#once-words")
    first = visit.page.locator(".orders li").first
    assert "password" in (first.get_attribute("title") or "")
    assert "Search over English texts" in visit.page.inner_text("#purpose")
    assert violations(visit) == []


def test_each_model_of_several_works_and_takes_only_what_it_can(visit: Visit) -> None:
    page = visit.page
    assert page.locator("#choice option").all_inner_texts() == [TEXT_MODEL, "builtin", "builtin-reranker"]
    page.select_option("#choice", "builtin")
    assert page.is_visible("#images-part")
    page.click("#samples")
    visit.until_said("9 items in the order of builtin-reranker.")
    assert page.locator(".orders ol").count() == 2
    page.select_option("#second-choice", "")
    page.click("#rank")
    visit.until_said("9 items in the order of builtin.")
    page.select_option("#choice", "builtin-reranker")
    assert not page.is_visible("#embed")
    page.click("#rank")
    visit.until_said("9 items in the order of builtin-reranker.")
    page.select_option("#choice", TEXT_MODEL)
    page.click("#rank")
    visit.until_said("6 items in order; 3 left out, which not every model takes.")
    page.click("#embed")
    visit.until_said("18 vectors in 3 requests. 3 left out.")


def test_what_was_typed_survives_a_reload(visit: Visit) -> None:
    page = visit.page
    page.select_option("#choice", "builtin")
    visit.type_texts("one", "two")
    page.locator("#items textarea").last.fill("two\nlines")
    visit.type_instructions("Represent the colors.")
    page.fill("#query", "colors")
    visit.let_fall(("some.txt", b"a line"))
    visit.until_said("1 line of some.txt added.")
    page.reload()
    visit.until_the_model_is_there()
    assert page.input_value("#choice") == "builtin"
    assert page.locator("#items textarea").evaluate_all("all => all.map(one => one.value)") == ["one", "two\nlines"]
    assert page.input_value("#instructions input") == "Represent the colors."
    assert page.input_value("#query") == "colors"
    assert page.locator("#items .pdf").count() == 0, "files are not kept"


def test_lines_of_a_file_are_dots_that_are_named(visit: Visit) -> None:
    page = visit.page
    visit.let_fall(("words.txt", "\r\n\n".join(LINES).encode()))
    visit.until_said("300 lines of words.txt added.")
    assert "300 lines" in page.inner_text("#items .pdf")
    visit.embed()
    assert page.inner_text("#status") == "300 vectors in 2 requests."
    canvas = page.locator(".dots canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    told = page.inner_text("#map .told")
    assert told.strip("“”") in LINES
    expect(page.locator(".dot-label")).to_have_text(told)
    page.keyboard.press("Enter")
    assert page.locator("#row option:checked").inner_text() == told
    assert violations(visit) == []
    data = visit.server.ask("/v1/embeddings", {"model": TEXT_MODEL, "input": LINES, "encoding_format": "base64"}).json()
    vectors = np.stack([from_base64(entry["embedding"]) for entry in data["data"]])
    near = cosines(vectors)[LINES.index(told.strip("“”"))]
    nearest = [float(score) for score in page.locator(".nearest .score").all_inner_texts()]
    assert nearest == pytest.approx(np.sort(near)[-2:-12:-1], abs=6e-4)
    canvas.hover(position={"x": 1, "y": 1})
    expect(page.locator(".dot-label")).to_be_hidden()
    painted = "c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size"
    assert canvas.evaluate(painted) > 10


def test_the_plane_of_many_is_their_first_two_principal_components(visit: Visit) -> None:
    random = np.random.default_rng(5)
    rows = (random.normal(size=(400, 24)) * np.geomspace(3, 0.3, 24)).astype(np.float32)
    code = "(m, rows) => m.plane(rows.map(row => Float32Array.from(row)))"
    found = visit.run_module("plane.js", code, rows.tolist())
    centered = rows - rows.mean(0)
    u, s, _ = np.linalg.svd(centered, full_matrices=False)
    theirs = u[:, :2] * s[:2]
    ours = np.array(found["points"])
    assert np.abs(ours * np.sign((ours * theirs).sum(0)) - theirs).max() < 1e-3
    assert found["share"] == pytest.approx((s[:2] ** 2).sum() / (s**2).sum(), abs=1e-5)
