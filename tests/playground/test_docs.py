"""The reference in a browser: the search, what is copied, what is sent, on a phone's width and by keyboard alone."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.builders import write_keys
from tests.conftest import CHECKPOINT, LiveServer
from tests.playground.conftest import Visitor
from tests.playground.test_keyboard import violations
from tests.playground.visit import Visit

NAMES = ("", "/embeddings", "/scores", "/tokens", "/models", "/probes", "/pages", "/types", "/errors")
KEY = "cen_key-of-the-reference"
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def visit(visitor: Visitor, served: LiveServer) -> Iterator[Visit]:
    with visitor(served) as visit:
        yield visit


def look_up(visit: Visit, path: str = "") -> Page:
    visit.page.goto(f"{visit.server.url}/docs{path}")
    visit.page.wait_for_selector("#search")
    return visit.page


def open_trial(page: Page, operation: str, example: str) -> Any:
    """Press the button of a call by the keyboard, and return the form."""
    call = page.locator(f"details.call[data-operation={operation}][data-example='{example}']")
    if call.get_attribute("open") is None:
        call.locator("summary").first.press("Enter")
    call.get_by_role("button", name="Try it").press("Enter")
    call.locator(".trial form").wait_for()
    return call.locator(".trial")


@pytest.mark.parametrize("width", [1360, PHONE["width"]])
def test_the_search_finds_a_field_by_keyboard_alone(visit: Visit, width: int) -> None:
    page = look_up(visit)
    page.set_viewport_size({"width": width, "height": 844})
    page.keyboard.press("/")
    page.keyboard.type("encoding_format")
    expect(page.get_by_role("option").first).to_contain_text("Vectors in OpenAI's form → body")
    assert violations(visit) == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/embeddings#createembedding.encoding_format")
    expect(page.locator(":target")).to_be_in_viewport()
    expect(page.locator(":target")).to_contain_text("How a vector is encoded in JSON.")


def test_the_search_finds_words_of_descriptions_codes_and_paths(visit: Visit) -> None:
    page = look_up(visit, "/types")
    for query, address in [
        ("overloaded", "docs/errors#error-codes.overloaded"), ("/v2/rerank", "docs/scores#rerankv2"),
        ("matryoshka normalized again", "docs/embeddings#createembedding.dimensions"),
        ("ImageUrl", "docs/types#imageurl"),
    ]:  # fmt: skip
        page.keyboard.press("Control+k")
        page.keyboard.type(query)
        expect(page.locator("#found [aria-selected=true]")).to_have_attribute("data-address", address)
        page.keyboard.press("Escape")
        expect(page.locator("dialog.search")).not_to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("no such words")
    expect(page.get_by_text("Nothing has all of these words.")).to_be_visible()


@pytest.mark.parametrize("anchor", ["imageurl", "imageurl.detail"])
def test_a_link_to_a_type_or_its_field_opens_the_list(visit: Visit, anchor: str) -> None:
    page = look_up(visit, f"/types#{anchor}")
    expect(page.locator("[id='imageurl.detail']")).to_be_visible()
    expect(page.locator(":target")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1360, PHONE["width"]])
def test_an_example_is_sent_by_keyboard_and_its_answer_copied(visit: Visit, width: int) -> None:
    page = look_up(visit, "/embeddings")
    page.set_viewport_size({"width": width, "height": 844})
    trial = open_trial(page, "createEmbedding", "text")
    body = json.loads(trial.get_by_label("Body").input_value())
    assert body["model"] == "builtin"
    trial.get_by_label("Body").focus()
    page.keyboard.press("Control+Enter")
    expect(trial.get_by_role("status")).to_contain_text("200 OK")
    expect(trial.get_by_label("Answer")).to_contain_text("… 256 numbers]")
    assert violations(visit) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    trial.get_by_role("button", name="Copy").press("Enter")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    vector = visit.server.ask("/v1/embeddings", body).json()["data"][0]["embedding"]
    assert copied["data"][0]["embedding"] == vector


def test_a_refusal_is_shown_as_the_server_words_it(visit: Visit) -> None:
    visit.expects_refusals = True
    trial = open_trial(look_up(visit, "/embeddings"), "createEmbedding", "text")
    trial.get_by_label("Body").fill('{"inputs": 3}')
    trial.get_by_role("button", name="Send").click()
    expect(trial.get_by_role("status")).to_contain_text("400")
    expect(trial.get_by_label("Answer")).to_contain_text("`inputs`")


def test_every_first_example_is_sent_and_answered(visit: Visit) -> None:
    """Of the built-in model; what it has not is refused by what it says, and is no failure of the page."""
    sent = 0
    for name in ("/embeddings", "/tokens", "/models", "/probes"):
        page = look_up(visit, name)
        visit.expects_refusals = True
        for call in page.locator("details.call[open]").all():
            call.get_by_role("button", name="Try it").click()
            call.locator(".trial form").wait_for()
            call.get_by_role("button", name="Send").click()
            status = call.get_by_role("status")
            expect(status).to_have_text(re.compile(r"^\d{3} "))
            told = call.locator(".answer").inner_text()
            is_answered = status.inner_text().startswith("200")
            assert is_answered or "supported" in told or "model" in told, (name, told)
            sent += is_answered
    assert sent >= 14


def test_the_language_is_chosen_once_for_all_calls_and_is_kept(visit: Visit) -> None:
    page = look_up(visit, "/embeddings")
    page.get_by_role("tab", name="curl").first.focus()
    page.keyboard.press("ArrowRight")
    chosen = page.locator("details.call[open] [role=tab][aria-selected=true]")
    assert set(chosen.all_inner_texts()) == {"Python, httpx", "curl"}, "streams have no such call"
    page.locator("details.call").first.get_by_role("button", name="Copy").first.click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("import httpx\n")
    page = look_up(visit, "/scores")
    assert set(chosen.all_inner_texts()) == {"Python, httpx"}


def test_links_to_what_was_one_page_lead_to_where_it_stands_now(visit: Visit) -> None:
    for old, new in [
        ("createembeddingstream", "/docs/embeddings#createembeddingstream"),
        ("error-codes", "/docs/errors#error-codes"),
        ("contentpart", "/docs/types#contentpart"), ("scores", "/docs/scores"),
    ]:  # fmt: skip
        visit.page.goto("about:blank")
        visit.page.goto(f"{visit.server.url}/docs#{old}")
        visit.page.wait_for_url(f"{visit.server.url}{new}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, PHONE["width"]])
def test_axe_finds_nothing_wrong_and_nothing_sticks_out(visit: Visit, scheme: str, width: int) -> None:
    visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    visit.page.set_viewport_size({"width": width, "height": 844})
    for name in NAMES:
        page = look_up(visit, name)
        assert violations(visit) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("document.documentElement.scrollHeight") < 90_000, name


def test_cards_and_tables_are_seen_whole_on_a_phone(visit: Visit) -> None:
    """A column to be scrolled to is one that nobody reads."""
    visit.page.set_viewport_size(PHONE)
    for name in NAMES:
        page = look_up(visit, name)
        for details in page.locator("details.more").all():
            details.evaluate("one => one.open = true")
        wide = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
        assert page.locator(".card, .scroll").evaluate_all(wide) == [], name


def test_tab_leads_from_the_head_into_the_page(visit: Visit) -> None:
    page = look_up(visit, "/embeddings")
    page.set_viewport_size(PHONE)
    page.reload()
    page.wait_for_selector("#search")
    stops = []
    for _ in range(8):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent.trim()"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", stops
    assert stops == [
        "Skip to the content", "Cenote API reference", "Search /", "Playground", "openapi.json", "Theme: system",
        "Contents", "Vectors in OpenAI's form",
    ]  # fmt: skip


def test_without_scripts_everything_can_be_read(visitor: Visitor, served: LiveServer) -> None:
    with visitor(served, java_script_enabled=False) as visit:
        visit.page.goto(f"{served.url}/docs/embeddings")
        page = visit.page
        assert page.locator(".fields li").count() > 90
        page.locator("details.call").nth(1).locator("summary").first.click()
        expect(page.locator("details.call").nth(1).locator("pre").first).to_be_visible()


def test_with_keys_the_reference_opens_and_asks_for_one_to_send(
    visitor: Visitor, start_server: Callable[..., LiveServer], tmp_path: Any
) -> None:
    keys = write_keys(tmp_path / "keys.jsonl", {"a": KEY})
    flags = ("--model", str(CHECKPOINT), "--served-name", "secret-project", "--api-keys", str(keys))
    locked = start_server(*flags).wait_until_ready()
    with visitor(locked) as visit:
        visit.expects_refusals = True
        page = look_up(visit, "/embeddings")
        assert "secret-project" not in page.content()
        call = page.locator("details.call").first
        call.get_by_role("button", name="Try it").click()
        call.get_by_label("API key").fill(KEY)
        page.keyboard.press("Enter")
        call.get_by_role("button", name="Send").click()
        expect(call.get_by_role("status")).to_contain_text("200 OK")
        kept = page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
        assert KEY not in kept
