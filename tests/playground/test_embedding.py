"""Dropped, typed and embedded: the heat map, the map and the facts are the server's."""

import base64

import numpy as np
import pytest

from tests.conftest import image, image_part, text_part
from tests.playground.truth import cosines, principal_components
from tests.playground.visit import Visit, sample

COLORS, SHAPES = "Represent the colors of the image.", "Represent the shapes of the image."
TEXTS = ("red and blue", "circle and square")


def png(seed: int) -> bytes:
    return base64.b64decode(image(seed).partition(",")[2])


def uri(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


def embed_by_hand(visit: Visit, seeds: tuple[int, int]) -> np.ndarray:
    """Two images under two instructions and two texts, by drop and keyboard; their vectors by plain requests."""
    images = [png(seed) for seed in seeds]
    visit.until_the_model_is_there().drop(("one.png", images[0]), ("two.png", images[1]))
    visit.type_texts(*TEXTS)
    visit.type_instructions(COLORS, SHAPES)
    visit.embed()
    inputs = [{"content": [image_part(uri(data))]} for data in images]
    asked = [{"inputs": inputs, "instruction": COLORS}, {"inputs": inputs, "instruction": SHAPES}, {"input": TEXTS}]
    return np.concatenate([visit.server.vectors(body) for body in asked])


def test_the_heat_map_shows_the_cosines_of_the_servers_vectors(visit: Visit) -> None:
    vectors = embed_by_hand(visit, (7001, 7002))
    shown = visit.matrix()
    assert shown.shape == (6, 6)
    assert np.abs(shown - cosines(vectors)).max() < 6e-5
    heads = visit.page.locator("#heat tbody th").all_inner_texts()
    assert [COLORS in head for head in heads] == [True, True, False, False, False, False]
    assert "red and blue" in heads[4]


def test_images_are_encoded_once_and_the_page_says_so(visit: Visit) -> None:
    embed_by_hand(visit, (7011, 7012))
    assert visit.page.inner_text("#facts p") == "4 images asked for, 2 encoded, 2 from the cache."
    rows = visit.page.locator("#facts tbody tr").all()
    counts = [tuple(map(int, row.locator(".number").all_inner_texts())) for row in rows]
    assert [count[:2] for count in counts] == [(2, 0), (0, 2), (0, 0)]
    assert all(tokens > 0 for _, _, tokens in counts)
    times = visit.page.locator("#facts .ms").all_inner_texts()
    assert all(time.endswith(" ms") and float(time.split()[0]) > 0 for time in times)
    told = rows[0].get_by_role("img").get_attribute("aria-label") or ""
    assert "Language model: " in told
    assert "–" not in told, "a header of times was missing"


def test_the_map_shows_the_first_two_principal_components(visit: Visit) -> None:
    vectors = embed_by_hand(visit, (7021, 7022))
    points, share = principal_components(vectors)
    marks = "[...document.querySelectorAll('#map .mark')]"
    places = visit.page.evaluate(f"{marks}.map(m => m.getAttribute('transform').match(/[-\\d.]+/g).map(Number))")
    shown = np.array(places) * [1, -1]
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    apart_shown = np.linalg.norm(shown[:, None] - shown[None], axis=-1)
    assert np.abs(apart_shown / apart_shown.max() - apart / apart.max()).max() < 2e-3
    assert f"{round(share * 100)} %" in visit.page.inner_text("#map-words")


def test_an_image_and_the_text_beside_it_are_one_item(visit: Visit) -> None:
    visit.until_the_model_is_there().drop(("stars.png", sample("three-green-stars")))
    visit.page.fill("#items li textarea", "green stars")
    visit.type_texts("star", "green")
    visit.embed()
    stars = {"content": [image_part(uri(sample("three-green-stars"))), text_part("green stars")]}
    texts = [{"content": [text_part(text)]} for text in ("star", "green")]
    vectors = visit.server.vectors({"inputs": [stars, *texts]})
    assert np.abs(visit.matrix() - cosines(vectors)).max() < 6e-5


def test_images_come_by_button_and_by_the_clipboard_too(visit: Visit) -> None:
    visit.until_the_model_is_there()
    with visit.page.expect_file_chooser() as chosen:
        visit.page.click("#add-images")
    chosen.value.set_files([{"name": "a.png", "mimeType": "image/png", "buffer": png(7031)}])
    visit.until_said("1 image added")
    visit.page.evaluate(
        """content => { const data = new DataTransfer(), bytes = Uint8Array.from(atob(content), c => c.charCodeAt(0));
        data.items.add(new File([bytes], "b.png", { type: "image/png" }));
        dispatchEvent(new ClipboardEvent("paste", { clipboardData: data })); }""",
        base64.b64encode(png(7032)).decode(),
    )
    visit.page.wait_for_function("() => document.querySelectorAll('#items li').length === 2")
    assert visit.page.locator("#items .name").all_inner_texts() == ["a.png", "b.png"]
    visit.page.get_by_role("button", name="Remove a.png").press("Enter")
    assert visit.page.locator("#items .name").all_inner_texts() == ["b.png"]


def test_the_samples_are_one_click_away_and_find_what_they_show(visit: Visit) -> None:
    """Each image is nearest to another text under each instruction: the reason to have instructions."""
    visit.try_samples()
    texts = ["red and blue", "green", "star", "circle and square", "three objects", "two objects"]
    nearest = [texts[i] for i in visit.matrix()[:9, 9:].argmax(1)]
    assert nearest[:2] + nearest[3:5] + nearest[6:] == [
        "red and blue", "green", "circle and square", "star", "two objects", "three objects", "three objects"
    ]  # fmt: skip


def test_pressing_twice_sends_once(visit: Visit) -> None:
    visit.until_the_model_is_there()
    visit.type_texts("one", "two", "three")
    sent: list[str] = []
    visit.page.on("request", lambda request: sent.append(request.url))
    visit.page.evaluate("() => [1, 2, 3].forEach(() => document.querySelector('#compose').requestSubmit())")
    visit.until_said("vectors in")
    assert sent == [f"{visit.server.url}/v1/embeddings"]


@pytest.mark.parametrize(("num_texts", "words"), [(0, "Add something to embed first."), (5001, "at most 5000")])
def test_no_rows_and_too_many_are_refused_before_anything_is_sent(visit: Visit, num_texts: int, words: str) -> None:
    visit.until_the_model_is_there()
    sent: list[str] = []
    visit.page.on("request", lambda request: sent.append(request.url))
    visit.page.evaluate(
        """async n => { const { inputs, textItem } = await import("/playground/items.js");
        inputs.items = Array.from({ length: n }, (_, i) => textItem(`text ${i}`)); }""",
        num_texts,
    )
    visit.page.click("#embed")
    visit.page.wait_for_function("words => document.querySelector('.foot').textContent.includes(words)", arg=words)
    assert not [url for url in sent if "embed" in url.rpartition("/")[2]]
