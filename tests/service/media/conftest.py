"""The folder of the oracle's images."""

from pathlib import Path

import pytest

MEDIA = Path(__file__).parents[2] / "models" / "golden" / "oracle" / "media"


@pytest.fixture
def media() -> Path:
    return MEDIA
