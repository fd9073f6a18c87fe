"""A client of a played engine for each test."""

import pytest

from tests.service.front.engine_client.played_engine import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()
