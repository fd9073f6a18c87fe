"""Bases of adapters, each made once, and a cache of links of each test's own."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.models.text.checkpoints import make_checkpoint


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A checkpoint of a text family."""
    return cache(lambda name: make_checkpoint(name, tmp_path_factory.mktemp(name) / "base"))
