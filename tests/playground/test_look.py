"""Dark, light and narrow: the theme follows the system until the button says otherwise, and numbers can be read."""

import numpy as np
import pytest

from tests.playground.visit import Visit

GROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(251, 252, 252)", "rgb(14, 23, 25)"
CELLS = """() => { const cells = [];
  return import("/playground/ramp.js").then(m => {
    const cell = document.querySelector("#heat tbody td:not(.self)");
    for (let i = 0; i <= 200; i++) {
      m.paint(cell, i / 200);
      const style = getComputedStyle(cell);
      cells.push([style.backgroundColor, style.color]);
    }
    return cells;
  }); }"""


def luminance(color: str) -> float:
    """WCAG's relative luminance of `oklab(L a b)` or `rgb(r, g, b)`.

    Source: Ottosson, "A perceptual color space for image processing"; WCAG 2.2.
    """
    numbers = np.array([float(one) for one in color[color.index("(") + 1 : -1].replace(",", " ").split()])
    weights = np.array([0.2126, 0.7152, 0.0722])
    if color.startswith("rgb"):
        parts = numbers / 255
        return float(weights @ np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4))
    assert color.startswith("oklab")
    to_lms = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]]
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.707614701],
        ]
    )
    return float(weights @ np.clip(to_rgb @ (to_lms @ numbers) ** 3, 0, 1))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_number_of_the_heat_map_can_be_read(visit: Visit, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    visit.try_samples()
    contrasts, lightness = [], []
    for ground, ink in visit.page.evaluate(CELLS):
        low, high = sorted((luminance(ground), luminance(ink)))
        contrasts.append((high + 0.05) / (low + 0.05))
        lightness.append(float(ground.removeprefix("oklab(").split()[0]))
    assert min(contrasts) >= 4.5
    steps = np.diff(lightness)
    assert np.abs(steps).min() > 0, "each step of the ramp can be told from the one before"
    assert np.ptp(steps) < 1e-3, "and all steps are alike"


def test_the_theme_is_the_systems_until_the_button_is_pressed(visit: Visit) -> None:
    page = visit.page
    page.emulate_media(color_scheme="light")
    assert page.evaluate(GROUND) == LIGHT
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(GROUND) == DARK
    page.click("#theme")
    assert (page.inner_text("#theme"), page.evaluate(GROUND)) == ("Theme: light", LIGHT)
    page.reload()
    assert page.evaluate(GROUND) == LIGHT, "the choice is kept"
    page.click("#theme")
    page.emulate_media(color_scheme="light")
    assert (page.inner_text("#theme"), page.evaluate(GROUND)) == ("Theme: dark", DARK)
    page.click("#theme")
    assert (page.inner_text("#theme"), page.evaluate(GROUND)) == ("Theme: system", LIGHT)


@pytest.mark.parametrize("width", [390, 700, 1000, 1920])
def test_nothing_sticks_out_of_a_screen_of_any_width(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 844})
    visit.until_the_model_is_there()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.try_samples()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_who_wants_no_motion_gets_none(visit: Visit) -> None:
    visit.try_samples()
    moves = "parseFloat(getComputedStyle(document.querySelector('#map .mark')).transitionDuration)"
    visit.page.emulate_media(reduced_motion="reduce")
    assert visit.page.evaluate(moves) == 0
    visit.page.emulate_media(reduced_motion="no-preference")
    assert visit.page.evaluate(moves) > 0
