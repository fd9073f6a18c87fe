"""Servers of these tests. They run by `make ingest-check`, in an environment that has every store."""

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import LiveServer
from tests.ingest.full.killed_stores import postgres


@pytest.fixture(scope="session")
def live(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The built-in model on every core that there is."""
    return start_for_all("--threads", "0").wait_until_ready()


@pytest.fixture(scope="module", name="postgres")
def _postgres() -> Iterator[str]:
    with postgres() as server:
        yield server.get_uri()
