"""The server of every generated client: one with the built-in model, and one of its images."""

import pytest

from tests.conftest import ROOT, LiveServer

IMAGE = ROOT / "service" / "model" / "builtin" / "samples" / "red-circle-blue-square.png"


@pytest.fixture(scope="session")
def live(builtin: LiveServer) -> tuple[str, str]:
    """Arguments of every use-site: the server's URL, and an image's path."""
    return builtin.url, str(IMAGE)
