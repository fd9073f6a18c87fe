"""Everything can be done without a mouse, and is told to those who do not see the page."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.playground.visit import Visit

AXE = (Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js").read_text


def focused(visit: Visit) -> str:
    return str(visit.page.evaluate("document.activeElement.id || document.activeElement.ariaLabel || ''"))


def violations(visit: Visit) -> list[str]:
    """Violations that axe-core finds, each with the elements."""
    visit.page.evaluate(AXE())
    found = visit.page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])")
    return [f"{rule}: {nodes[:3]}" for rule, nodes in found]


def test_tab_leads_through_the_form_and_every_stop_can_be_seen(visit: Visit) -> None:
    visit.until_the_model_is_there()
    visit.type_texts("one", "two")
    visit.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    visit.page.focus(".skip")
    stops = []
    for _ in range(20):
        visit.page.keyboard.press("Tab")
        stops.append(focused(visit))
        assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", stops
    assert stops[2:] == [
        "theme", "add-images", "Text", "Remove text “one”", "Text", "Remove text “two”", "add-text", "add-lines",
        "Instruction 1", "Remove instruction 1", "add-instruction", "texts-once", "query", "query-instruction", "embed",
        "rank", "samples", "samples-too",
    ]  # fmt: skip


def test_arrow_keys_lead_through_the_heat_map(visit: Visit) -> None:
    visit.try_samples()
    at = "[document.activeElement.dataset.i, document.activeElement.dataset.j].map(Number)"
    visit.page.focus("#heat td[tabindex='0']")
    for key, place in [
        ("ArrowRight", [0, 1]), ("ArrowDown", [1, 1]), ("End", [1, 14]), ("ArrowRight", [1, 14]),
        ("ArrowLeft", [1, 13]), ("Home", [1, 0]), ("Control+End", [14, 14]), ("ArrowUp", [13, 14]),
        ("Control+Home", [0, 0]), ("ArrowUp", [0, 0]),
    ]:  # fmt: skip
        visit.page.keyboard.press(key)
        assert visit.page.evaluate(at) == place, key
    assert visit.page.locator("#heat td[tabindex='0']").count() == 1, "one stop for Tab"
    visit.page.keyboard.press("ArrowRight")
    told = visit.page.inner_text("#heat .told")
    assert told.startswith(visit.page.locator("#heat td").nth(1 + 1).get_attribute("data-exact") or "none")
    assert "red-circle-blue-square.png" in told
    assert "three-green-stars.png" in told
    assert visit.page.locator("#map .mark:not(.faint)").count() == 2


def test_arrow_keys_choose_size_format_and_language(visit: Visit) -> None:
    visit.try_samples()
    visit.page.focus("#size")
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.inner_text("#size-told") == "128 of 256"
    assert visit.page.get_attribute("#size", "aria-valuetext") == "128 of 256 dimensions"
    visit.page.focus("input[value=float]")
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.is_checked("input[value=int8]")
    visit.page.focus("#tab-0")
    visit.page.keyboard.press("ArrowRight")
    assert focused(visit) == "tab-1"
    expect(visit.page.locator("#code")).to_contain_text("httpx")  # int8 is not the OpenAI SDK's
    visit.page.keyboard.press("ArrowLeft")
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.get_attribute("#tab-2", "aria-selected") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, 390])
def test_axe_finds_nothing_wrong(visit: Visit, scheme: str, width: int) -> None:
    visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.until_the_model_is_there()
    assert violations(visit) == []
    visit.try_samples()
    assert violations(visit) == []


def test_the_page_has_the_parts_that_a_screen_reader_looks_for(visit: Visit) -> None:
    visit.try_samples()
    told = visit.page.locator("body").aria_snapshot()
    for part in (
        'heading "Similarity"', 'slider "Dimensions"', 'radio "int8"', 'grid "Similarity"', 'tab "Python"', "status:",
        'button "Embed"', 'combobox "Instruction 1"', 'button "Remove three-green-stars.png"',
    ):  # fmt: skip
        assert part in told, part
    first = visit.page.locator("#heat tbody").get_by_role("gridcell").first
    assert first.inner_text() == "1"
    row = visit.page.get_by_role("rowheader").first.inner_text()
    assert "red-circle-blue-square.png, Represent the colors of the image." in row
