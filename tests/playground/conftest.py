"""Debian's Chromium, driven by Playwright, and what every visit is watched for. Run by `make playground`."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import LiveServer
from tests.playground.visit import Visit

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
"""No sandbox: containers run as root. The rest keeps the browser itself from calling anybody."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-images", action="store_true", help="take the screenshots in docs/images/ again")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each file: Playwright's event loop runs in this thread for as long as it is open.

    Whatever runs one of its own after these tests would be told that there is one already.
    """
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert program, "there is no chromium: install Debian's package, or name the program in CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


Visitor = Callable[..., AbstractContextManager[Visit]]


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Visitor:
    """Opens the page of a server in a profile of its own; at the end nothing may have gone wrong behind the scenes."""

    @contextmanager
    def visit(server: LiveServer, **context: Any) -> Iterator[Visit]:
        options = {"viewport": {"width": 1360, "height": 900}, "permissions": ["clipboard-read", "clipboard-write"]}
        opened = browser.new_context(**(options | context))
        try:
            visit = Visit(opened.new_page(), server)
            yield visit
            visit.assert_nothing_went_wrong()
        finally:
            opened.close()

    return visit


@pytest.fixture(scope="session")
def served(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The built-in model with every default; vectors are kept, as they are for who runs it."""
    return start_for_all("--result-cache-bytes", "67108864").wait_until_ready()


@pytest.fixture
def visit(visitor: Visitor, served: LiveServer) -> Iterator[Visit]:
    with visitor(served) as visit:
        yield visit
