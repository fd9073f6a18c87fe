"""Servers of these tests. They run by `make ingest-check`, in an environment that has every store."""

from collections.abc import Callable

import pytest

from tests.conftest import LiveServer


@pytest.fixture(scope="session")
def live(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The built-in model on every core that there is."""
    return start_for_all("--threads", "0").wait_until_ready()
