"""The documentation's images of the page; `make playground ARGS=--write-images` takes them again."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from tests.conftest import ROOT, LiveServer
from tests.playground.conftest import Visitor
from tests.playground.visit import Visit

BOTH = ("--model", "builtin=builtin", "--model", "builtin-reranker=builtin-reranker")
"""The models of `make serve`."""

FOLDER = ROOT / "docs" / "images"
MAX_BYTES = 200_000
NUM_COLORS = 256


def light(visit: Visit) -> None:
    """The page after the first click."""


def dark(visit: Visit) -> None:
    """Further down, at a size and in a format that cost something."""
    visit.choose("int8", 64)
    visit.page.wait_for_function("() => document.querySelectorAll('#chart .curve circle').length === 12")
    visit.page.locator("#map-part").scroll_into_view_if_needed()
    visit.page.evaluate("document.querySelector('#map-part').scrollIntoView()")
    visit.page.evaluate("scrollBy(0, -24)")


def narrow(visit: Visit) -> None:
    """The heat map on a phone."""
    visit.page.evaluate("document.querySelector('#heat-part').scrollIntoView()")
    visit.page.evaluate("scrollBy(0, -16)")


Scene = tuple[Callable[[Visit], None], dict[str, Any]]
SCENES: dict[str, Scene] = {
    "playground-dark": (dark, {"viewport": {"width": 1360, "height": 1300}, "color_scheme": "dark"}),
    "playground-light": (light, {"viewport": {"width": 1360, "height": 1150}, "color_scheme": "light"}),
    "playground-narrow": (narrow, {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"}),
}


def take(visit: Visit, name: str) -> None:
    """Write an image of few colors, those that cover the most made finer: neither red dots nor cells change."""
    visit.page.wait_for_timeout(500)  # marks of the map have come to rest
    taken = Image.open(io.BytesIO(visit.page.screenshot(animations="disabled"))).convert("RGB")
    FOLDER.mkdir(exist_ok=True)
    few = taken.quantize(NUM_COLORS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(FOLDER / f"{name}.png", optimize=True)


@pytest.fixture(scope="module")
def fresh(request: pytest.FixtureRequest, start_server: Callable[..., LiveServer]) -> LiveServer | None:
    """A server that has seen no image yet, so that the first scene shows what the cache does."""
    if not request.config.getoption("--write-images"):
        return None
    return start_server(*BOTH, "--result-cache-bytes", "67108864").wait_until_ready()


@pytest.mark.parametrize("name", SCENES)
def test_the_image_is_shown_and_small(name: str, fresh: LiveServer | None, visitor: Visitor) -> None:
    arrange, context = SCENES[name]
    if fresh is not None:
        with visitor(fresh, **context) as visit:
            visit.page.click("#samples-too")
            visit.until_said("items in the order of")
            arrange(visit)
            take(visit, name)
    file = FOLDER / f"{name}.png"
    assert file.stat().st_size < MAX_BYTES
    assert Image.open(file).size == tuple(context["viewport"].values())
    assert f"images/{name}.png" in (ROOT / "docs" / "playground.md").read_text()
