"""A long run can be stopped by a button or by Escape; what is done stays, and the rest is not asked for."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Request, Route, expect

from tests.pdf_file import pdf
from tests.playground.test_keyboard import violations
from tests.playground.visit import Visit

NUM_LINES, NUM_A_REQUEST = 4_864, 256
LINES = "\n".join(f"{number} {' '.join(['red circle'] * 20)}" for number in range(NUM_LINES)).encode()


def press_button(visit: Visit) -> None:
    visit.page.get_by_role("button", name="Stop").click()


def press_escape(visit: Visit) -> None:
    visit.page.keyboard.press("Escape")


def press_tab_to_the_button(visit: Visit) -> None:
    for _ in range(3):
        visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_role("button", name="Stop")).to_be_focused()
    visit.page.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("stop", "width"), [(press_button, 390), (press_escape, 1360), (press_tab_to_the_button, 1360)]
)
def test_a_long_run_is_stopped_and_keeps_what_is_done(visit: Visit, stop: Callable[[Visit], None], width: int) -> None:
    page = visit.until_the_model_is_there().page
    page.set_viewport_size({"width": width, "height": 844})
    expect(page.locator("#stop")).to_be_hidden()
    visit.let_fall(("words.txt", LINES))
    visit.until_said("4,864 lines of words.txt added.")
    asked = list[Request]()
    page.on("request", lambda request: asked.append(request) if request.method == "POST" else None)
    page.focus("#embed")
    page.keyboard.press("Enter")
    visit.until_said("Request 2 of 19")
    expect(page.locator("#embed")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#embed")).to_be_focused()
    stop(visit)
    visit.until_said("Stopped: ")
    said = re.fullmatch(r"Stopped: ([\d,]+) of 4,864 vectors are here\.", page.inner_text("#status"))
    assert said
    num_done = int(said[1].replace(",", ""))
    assert num_done % NUM_A_REQUEST == 0
    assert 0 < num_done < NUM_LINES
    assert page.locator("#row option").count() == num_done
    assert page.is_visible("#map canvas")
    expect(page.locator("#stop")).to_be_hidden()
    expect(page.locator("#embed")).to_be_focused()
    assert len(asked) == num_done // NUM_A_REQUEST + 1


@pytest.mark.parametrize("width", [390, 1360])
def test_axe_finds_nothing_wrong_while_a_request_is_under_way(visit: Visit, width: int) -> None:
    page, held = visit.until_the_model_is_there().page, list[Route]()
    page.set_viewport_size({"width": width, "height": 844})
    page.route("**/v1/embeddings", lambda route: held.append(route))
    visit.type_texts("a red circle")
    page.keyboard.press("Control+Enter")
    visit.until_said("Request 1 of 1")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    assert violations(visit) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Control+Enter")
    held[0].continue_()
    visit.until_said("1 vector in 1 request.")
    assert len(held) == 1, "one run at a time"


def test_a_run_without_an_answer_leaves_what_was_there(visit: Visit) -> None:
    page = visit.until_the_model_is_there().page
    visit.type_texts("a red circle", "a blue square")
    visit.embed()
    page.keyboard.press("Escape")
    assert page.inner_text("#status") == "2 vectors in 1 request.", "there is nothing to stop"
    visit.let_fall(("words.txt", LINES))
    visit.until_said("4,864 lines of words.txt added.")
    page.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true }))")
    page.keyboard.press("Escape")
    visit.until_said("Stopped: 0 of 4,866 vectors are here.")
    assert page.locator("#row option").all_inner_texts() == ["“a red circle”", "“a blue square”"]


def test_escape_closes_a_dialog_and_stops_nothing(visit: Visit) -> None:
    page = visit.until_the_model_is_there().page
    visit.let_fall(("report.pdf", pdf(1)))
    visit.until_said("1 page of report.pdf added.")
    visit.type_texts("a red circle")
    page.get_by_role("list", name="report.pdf").get_by_role("button").first.click()
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    visit.until_said("2 vectors in 1 request.")
