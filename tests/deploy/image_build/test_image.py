"""The image itself: built from the Dockerfile, looked through, and run in the container's confinement."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy import confinement
from tests.deploy.confined_server import STOP_S, ConfinedServer
from tests.deploy.image_build.buildah import IMAGE, build, buildah, configuration, make_base


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file system of a container that has not run yet."""
    if os.geteuid() != 0 or shutil.which("buildah") is None or shutil.which("debootstrap") is None:
        pytest.skip("needs root, buildah and debootstrap")
    make_base()
    build(tmp_path_factory.mktemp("build"))
    container = buildah("from", "--pull-never", IMAGE).strip()
    yield Path(buildah("mount", container).strip())
    buildah("umount", container)
    buildah("rm", container)


def files(root: Path) -> Iterator[Path]:
    """Every file of ours: the environment, and the two volumes' places."""
    for place in ("opt/cenote", "models", "var/cache/cenote"):
        yield from (root / place).rglob("*")


def test_it_says_who_runs_what_and_how_to_see_that_it_is_well(image: Path) -> None:
    says = configuration()
    assert says["User"] == f"{confinement.UID}:{confinement.UID}"
    assert (says["Entrypoint"], says["Cmd"], says["StopSignal"]) == (["cenote"], ["serve"], "SIGTERM")
    assert says["Volumes"].keys() == {"/models", "/var/cache/cenote"}
    assert says["Healthcheck"]["Test"] == ["CMD", "python", "/opt/cenote/healthcheck.py"]
    assert (image / "opt/cenote/healthcheck.py").is_file()


def test_what_runs_cannot_be_changed_by_who_runs_it(image: Path) -> None:
    changeable = [path for path in files(image) if path.lstat().st_uid != 0 or path.lstat().st_mode & 0o002]
    assert [path for path in changeable if not path.is_symlink()] == []
    for place in ("models", "var/cache/cenote"):
        assert (image / place).stat().st_uid == confinement.UID


def test_it_holds_the_product_with_its_extras_and_neither_tests_nor_pip(image: Path) -> None:
    packages = image / "opt/cenote/lib/python3.11/site-packages"
    for name in ("service", "schemas", "cenote_kernels", "cenote_native", "torch", "av", "redis", "opentelemetry"):
        assert (packages / name).is_dir(), name
    for name in ("pip", "tests", "pytest", "nvidia"):
        assert not (packages / name).exists(), name
    assert not (image / "src").exists()
    assert not (image / "build").exists()


def test_it_serves_as_process_one_and_ends_by_a_signal(image: Path, tmp_path: Path) -> None:
    cache = confinement.give_away(tmp_path / "cache")
    environment = dict(variable.split("=", 1) for variable in configuration()["Env"])
    environment |= {"CENOTE_HOST": "127.0.0.1", "CENOTE_LOG_FORMAT": "human", "CENOTE_THREADS": "1"}
    confine = confinement.command(image, [f"rw:{cache}:/var/cache/cenote"])
    server = ConfinedServer(tmp_path / "log", confine, environment, "unused", cache, program=("cenote",))
    try:
        server.wait_until_ready()
        answer = server.http.post("/v1/embeddings", json={"input": ["a red circle", ""]})
        assert [len(one["embedding"]) for one in answer.json()["data"]] == [256, 256]
    finally:
        code = server.stop()
    assert code == 0, f"within {STOP_S} s"
