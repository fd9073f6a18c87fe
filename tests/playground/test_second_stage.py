"""With a reranker on the server: candidates by the embedder's cosine, and then in the reranker's order."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from scipy.stats import kendalltau

from tests.conftest import LiveServer, image_part
from tests.playground.conftest import Visitor
from tests.playground.test_copied import run
from tests.playground.test_embedding import png, uri
from tests.playground.test_keyboard import violations
from tests.playground.visit import Visit, sample

BOTH = ("--model", "search=builtin", "--model", "rank=builtin-reranker")
QUERY = "green stars"
TEXTS = ("a green star", "two objects", "red and blue")


@pytest.fixture(scope="module")
def pair(start_server: Callable[..., LiveServer]) -> LiveServer:
    """The built-in embedder and reranker."""
    return start_server(*BOTH).wait_until_ready()


@pytest.fixture(scope="module")
def alone(start_server: Callable[..., LiveServer]) -> LiveServer:
    """The reranker, and no embedder."""
    return start_server(*BOTH[2:]).wait_until_ready()


@pytest.fixture
def visit(visitor: Visitor, pair: LiveServer) -> Iterator[Visit]:
    with visitor(pair) as visit:
        yield visit.until_the_model_is_there()


def put_in_order(visit: Visit, query: str = QUERY, instruction: str = "") -> None:
    visit.page.fill("#query-instruction", instruction)
    visit.page.fill("#query", query)
    visit.page.evaluate("document.querySelector('#status').textContent = ''")
    visit.page.keyboard.press("Enter")
    visit.until_said("items in the order of rank.")


def shown(visit: Visit) -> list[list[tuple[str, float]]]:
    """Of each list, the items' names and scores from the top down."""
    read = "l => [...l.children].map(r => [r.title, +r.querySelector('.score').textContent])"
    return [[tuple(row) for row in each.evaluate(read)] for each in visit.page.locator(".orders ol").all()]


def answered(server: LiveServer, names: list[str], **body: Any) -> list[tuple[str, float]]:
    results = server.ask("/v1/rerank", body).json()["results"]
    return [(names[one["index"]], pytest.approx(one["relevance_score"], abs=6e-4)) for one in results]


def test_both_orders_are_the_servers(visit: Visit) -> None:
    stars = sample("three-green-stars")
    visit.drop(("stars.png", stars), ("blocks.png", png(7101)))
    visit.type_texts(*TEXTS)
    visit.page.fill("#items li:first-child textarea", "on a plain ground")
    put_in_order(visit)
    beside = {"type": "text", "text": "on a plain ground"}
    documents = [{"content": [image_part(uri(stars)), beside]}, {"content": [image_part(uri(png(7101)))]}, *TEXTS]
    names = ["stars.png with “on a plain ground”", "blocks.png", *(f"“{text}”" for text in TEXTS)]
    before, after = shown(visit)
    for model, order in (("search", before), ("rank", after)):
        assert order == answered(visit.server, names, query=QUERY, documents=documents, model=model)
    assert visit.page.locator(".orders h3").all_inner_texts() == ["search: cosine", "rank: sigmoid"]

    places = [name for name, _ in before]
    moves = [places.index(name) - place for place, (name, _) in enumerate(after)]
    signs = [f"↑{by}" if by > 0 else f"↓{-by}" if by < 0 else "·" for by in moves]
    told = visit.page.locator(".orders .move").all_inner_texts()
    assert [one.split()[0] for one in told] == signs
    assert visit.page.locator(".lane.risen").count() == sum(by > 0 for by in moves)
    one, other = ([dict(order)[name] for name in names] for order in (before, after))
    tau = float(visit.page.inner_text("#second .told").rpartition(" ")[2])
    assert tau == pytest.approx(kendalltau(one, other).statistic, abs=6e-4)


def test_the_instruction_is_that_of_both(visit: Visit) -> None:
    visit.type_texts(*TEXTS)
    put_in_order(visit)
    plain = shown(visit)
    told: dict[str, Any] = {"query": QUERY, "documents": TEXTS, "instruction": "Judge the colors alone."}
    put_in_order(visit, instruction=told["instruction"])
    names = [f"“{text}”" for text in TEXTS]
    assert shown(visit) == [answered(visit.server, names, model=model, **told) for model in ("search", "rank")]
    assert plain != shown(visit)


def test_the_samples_show_everything_of_both_models(visit: Visit) -> None:
    visit.page.click("#samples-too")
    visit.until_said("9 items in the order of rank.")
    assert visit.page.is_visible("#heat-part")
    assert [len(order) for order in shown(visit)] == [9, 9]
    assert "reranker" in visit.page.inner_text("#model")
    assert violations(visit) == []


def test_the_orders_come_into_view_when_they_are_asked_for(visit: Visit) -> None:
    visit.page.click("#samples-too")
    visit.until_said("9 items in the order of rank.")
    visit.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    put_in_order(visit)
    expect(visit.page.locator("#second")).to_be_in_viewport(ratio=1)


def test_without_a_reranker_the_order_is_the_embedders(visitor: Visitor, served: LiveServer) -> None:
    with visitor(served) as visit:
        visit.try_samples()
        assert not visit.page.is_visible("#second-line")
        assert [len(order) for order in shown(visit)] == [9]
        assert visit.page.locator(".orders h3").all_inner_texts() == ["builtin: cosine"]


def test_without_an_embedder_there_is_one_order(visitor: Visitor, alone: LiveServer) -> None:
    with visitor(alone) as visit:
        visit.until_the_model_is_there()
        assert visit.page.is_visible("text=One query, several candidates.")
        assert not visit.page.is_visible("#instructions-part")
        assert not visit.page.is_visible("#embed")
        visit.page.click("#samples-too")
        visit.until_said("9 items in the order of rank.")
        visit.page.fill("#query", "two objects")
        visit.page.keyboard.press("Control+Enter")
        visit.page.wait_for_function("() => document.querySelector('#second .told').textContent === '“two objects”'")
        assert [len(order) for order in shown(visit)] == [9]
        assert not visit.page.locator(".orders .move, .lane").count()
        assert violations(visit) == []


def test_what_cannot_be_put_in_order_is_said_before_anything_is_sent(visit: Visit) -> None:
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    visit.page.click("#rank")
    visit.until_said("Write a query first.")
    visit.type_texts("one")
    visit.page.fill("#query", QUERY)
    visit.page.click("#rank")
    visit.until_said("at least two things")
    assert asked == []


def test_an_item_that_is_refused_is_blamed(visit: Visit) -> None:
    visit.expects_refusals = True
    visit.drop(("broken.png", b"this is no image"))
    visit.type_texts("one", "two")
    visit.page.fill("#query", QUERY)
    visit.page.click("#rank")
    visit.page.wait_for_selector("#error:not([hidden])")
    assert "documents[0]" in visit.page.inner_text("#error")
    assert visit.page.inner_text("#items .at-fault .fault") in visit.page.inner_text("#error")
    visit.page.get_by_role("button", name="Remove broken.png").click()
    put_in_order(visit)
    assert not visit.page.is_visible("#error")


@pytest.mark.parametrize("language", ["curl", "Python", "TypeScript"])
def test_the_copied_request_gives_the_order_of_the_page(visit: Visit, tmp_path: Path, language: str) -> None:
    visit.drop(("stars.png", sample("three-green-stars")))
    visit.type_texts(*TEXTS)
    put_in_order(visit)
    visit.page.click("summary")
    visit.page.select_option("#second-which", label="rank")
    visit.page.get_by_role("tab", name=language).click()
    visit.page.click("#second-copy")
    visit.until_said(f"Copied the request as {language}")
    printed = run(tmp_path, language, visit.page.evaluate("navigator.clipboard.readText()"))
    names = ["stars.png", *(f"“{text}”" for text in TEXTS)]
    order = [name for name, _ in shown(visit)[1]]
    if language == "curl":
        assert [names[one["index"]] for one in json.loads(printed)["results"]] == order
    elif language == "Python":
        assert [names[int(line.split()[0])] for line in printed.splitlines()] == order
    else:
        assert printed.count("relevance_score") == len(order)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, 390])
def test_two_orders_fit_and_axe_finds_nothing_wrong(visit: Visit, scheme: str, width: int) -> None:
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.drop(("stars.png", sample("three-green-stars")))
    visit.type_texts(*TEXTS, "a text that is a good deal longer than a list of two orders has room for in a line")
    put_in_order(visit)
    visit.page.click("summary")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(visit) == []
    lines, rows = (visit.page.locator(f".orders {one}").first.bounding_box() for one in ("svg", "ol"))
    assert lines is not None
    assert rows is not None
    assert (lines["y"], lines["height"]) == pytest.approx((rows["y"], rows["height"]), abs=0.5)


def test_models_are_told_apart_by_what_they_give(visit: Visit) -> None:
    def card(name: str, scoring: str, *modalities: str, **more: Any) -> dict[str, Any]:
        own = {"pooling": "mean", "outputs": ["dense"]}
        return {"id": name, "root": name, "scoring": scoring, "modalities": modalities, **own, **more}

    texts, both = card("texts", "cosine", "text"), card("both", "cosine", "text", "image")
    pairs = card("pairs", "logit", "text", "image", outputs=[])
    late = card("late", "max_sim", "text", pooling="multi_vector", outputs=["multi"])
    cards = [texts, both, pairs, late, texts | {"id": "alias"}]
    assert [one["id"] for one in visit.run_module("models.js", "(m, c) => m.servedModels(c)", cards)] == [
        "texts", "both", "pairs", "late"
    ]  # fmt: skip
    code = "(m, c, ...names) => Object.values(m.chosenModels(c, ...names)).map(card => card?.id ?? null)"
    for names, chosen in [
        ([], ["texts", None]), (["both"], ["both", "pairs"]), (["both", ""], ["both", None]),
        (["gone"], ["texts", None]),
        (["texts", "pairs"], ["texts", "pairs"]), (["late"], [None, "late"]), (["pairs"], [None, "pairs"]),
    ]:  # fmt: skip
        assert visit.run_module("models.js", code, cards, *names) == chosen
    items = [{"image": "data:", "text": ""}, {"image": None, "text": "a"}]
    code = "(m, cards, items) => m.candidatesOf(cards, items).length"
    assert visit.run_module("second_stage.js", code, [both], items) == 2
    assert visit.run_module("second_stage.js", code, [both, texts], items) == 1
