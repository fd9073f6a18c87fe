"""Checkpoints of the text families, made once, served, and with their reference."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.models.served import Served
from tests.models.text.checkpoints import make_checkpoint, reference


class ServedText(Served):
    """A checkpoint of texts and its reference."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reference = reference(folder)

    def token_ids(self, text: str) -> list[int]:
        """A text's prompt, cut at its end where it is too long."""
        return self.text_prompts([text], side="right")[0].plan.ids


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ServedText]:
    """The checkpoint of a family, served; made when it is first asked for."""
    return cache(lambda name: ServedText(make_checkpoint(name, tmp_path_factory.mktemp(name) / "checkpoint")))
