"""Where models with one vision tower meet: nothing is asked of the file system before it is needed."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from service.front.serving import shared_towers
from service.front.serving.shared_towers import PREFIX, SharedTowers, remove_abandoned
from service.settings.settings import Settings

OWNER = 1


@pytest.fixture
def only_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No memory to write to, and one folder of the disk."""
    monkeypatch.setattr(shared_towers, "MEMORY", tmp_path / "none")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def sharing(towers: SharedTowers) -> str | None:
    """The folder that a model of the service is given."""
    return towers._sharing(Settings()).disk_cache


def test_a_container_without_any_folder_serves_all_the_same(monkeypatch: pytest.MonkeyPatch, only_disk: Path) -> None:
    def none() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", none)
    towers = SharedTowers(2, OWNER)
    assert sharing(towers) is None
    towers.close()
    remove_abandoned()


def test_a_folder_is_there_as_long_as_its_service(only_disk: Path) -> None:
    """Its number proves nothing: in a container every service has the same."""
    folder = only_disk / f"{PREFIX}{OWNER}"
    (folder / "of a service that was killed").mkdir(parents=True)
    remove_abandoned()
    assert not folder.exists()
    fronts = [SharedTowers(2, OWNER) for _ in range(2)]
    assert [sharing(one) for one in fronts] == [str(folder)] * 2
    fronts[0].close()
    remove_abandoned()
    assert folder.exists(), "another front has it"
    fronts[1].close()
    remove_abandoned()
    assert not folder.exists()


def test_a_service_that_is_killed_leaves_nothing_to_the_next(only_disk: Path) -> None:
    code = (
        "import sys, tempfile, pathlib; from service.front.serving import shared_towers as t;"
        "from service.settings.settings import Settings;"
        "tempfile.tempdir = sys.argv[1]; t.MEMORY = pathlib.Path('/none');"
        "one = t.SharedTowers(2, 1); print(one._sharing(Settings()).disk_cache, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(only_disk)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        folder = Path(service.stdout.readline().strip())
        remove_abandoned()
        assert folder.is_dir(), "it runs"
        service.send_signal(signal.SIGKILL)
    assert folder.is_dir()
    remove_abandoned()
    assert not folder.exists()


def test_what_is_not_a_services_own_folder_stays(only_disk: Path) -> None:
    others, link = only_disk / f"{PREFIX}mine", only_disk / f"{PREFIX}2"
    others.mkdir()
    link.symlink_to(others)
    remove_abandoned()
    assert (others.is_dir(), link.is_symlink()) == (True, True)
    others.rename(only_disk / "elsewhere")
    only_disk.joinpath(f"{PREFIX}{OWNER}").symlink_to(only_disk / "elsewhere")
    assert sharing(SharedTowers(2, OWNER)) is None
