"""Where models with one vision tower meet: nothing is asked of the file system before it is needed."""

import os
import tempfile
from pathlib import Path

import pytest

from service.front.serving import shared_towers
from service.front.serving.shared_towers import PREFIX, SharedTowers, folder_of, remove_folder

NO_PROCESS = 1 << 30


@pytest.fixture
def only_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No memory to write to, and one folder of the disk."""
    monkeypatch.setattr(shared_towers, "MEMORY", tmp_path / "none")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_container_without_any_folder_serves_all_the_same(monkeypatch: pytest.MonkeyPatch, only_disk: Path) -> None:
    def none() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", none)
    SharedTowers(1, os.getpid())
    assert folder_of(os.getpid()) is None
    remove_folder(os.getpid())


def test_own_folder_and_those_of_services_that_were_killed_are_removed(only_disk: Path) -> None:
    folders = [only_disk / f"{PREFIX}{name}" for name in (os.getpid(), NO_PROCESS, os.getppid(), "mine")]
    for folder in folders:
        folder.mkdir()
    assert folder_of(os.getpid()) == folders[0]
    remove_folder(os.getpid())
    assert [folder.exists() for folder in folders] == [False, False, True, True]
