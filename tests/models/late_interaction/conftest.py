"""The checkpoint of late interaction."""

from pathlib import Path

import pytest

from tests.models.late_interaction.checkpoints import colqwen2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return colqwen2(tmp_path_factory.mktemp("late") / "colqwen2-small")
