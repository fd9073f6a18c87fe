"""A page of another origin asks the API in the browser: what `--allowed-origins` lets it read, and what not."""

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.builders import write_keys
from tests.conftest import CHECKPOINT, LiveServer

KEY = "cen_key"
ASK = """async ([url, key, body]) => {
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}`, "x-stainless-lang": "js" };
  try {
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    const id = answer.headers.get("x-request-id"), time = answer.headers.get("x-total-time");
    return { status: answer.status, id, time, retry: answer.headers.get("retry-after"), body: await answer.json() };
  } catch (error) { return { hidden: String(error) }; }
}"""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An origin of its own: a page on another port."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text("<!doctype html><title>another origin</title>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_address[1]}"
        site.shutdown()


@pytest.fixture
def page(browser: Browser, origin: str) -> Iterator[Page]:
    opened = browser.new_context()
    page = opened.new_page()
    page.goto(origin)
    yield page
    opened.close()


@pytest.fixture(scope="module")
def allowing(
    start_server: Callable[..., LiveServer], origin: str, tmp_path_factory: pytest.TempPathFactory
) -> LiveServer:
    keys = write_keys(tmp_path_factory.mktemp("keys") / "keys", {"a": KEY})
    flags = ("--api-keys", str(keys), "--max-body-bytes", "10000")
    return start_server("--model", str(CHECKPOINT), *flags, "--allowed-origins", origin).wait_until_ready()


def ask(page: Page, server: LiveServer, path: str, key: str, body: dict[str, Any]) -> Any:
    return page.evaluate(ASK, [server.url + path, key, body])


@pytest.mark.parametrize(
    ("path", "key", "text", "status"),
    [
        ("/v1/embeddings", KEY, "hi", 200),
        ("/v1/embeddings", "wrong", "hi", 401),
        ("/none", KEY, "hi", 404),
        ("/v1/embeddings", KEY, "x" * 20_000, 413),
    ],
)
def test_a_page_that_is_allowed_reads_answers_and_refusals(
    page: Page, allowing: LiveServer, path: str, key: str, text: str, status: int
) -> None:
    told = ask(page, allowing, path, key, {"input": text})
    assert told["status"] == status, told
    assert told["id"]
    assert float(told["time"]) >= 0
    assert told["body"]["error"]["code"] if status != 200 else told["body"]["data"]


def test_a_page_reads_that_the_model_is_loading_and_when_to_come_back(
    page: Page, start_server: Callable[..., LiveServer], origin: str
) -> None:
    loading = start_server("--model", str(CHECKPOINT), "--allowed-origins", "*", "--device", "cpu")
    told = ask(page, loading, "/v1/embeddings", KEY, {"input": "hi"})
    assert (told["status"], told["body"]["error"]["code"]) == (503, "model_loading")
    assert int(told["retry"]) > 0


def test_without_leave_the_browser_hides_everything(page: Page, served: LiveServer) -> None:
    assert "hidden" in ask(page, served, "/v1/embeddings", KEY, {"input": "hi"})
