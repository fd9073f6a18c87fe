"""The files of a release, installed from an index of their own into new environments, and served from there.

The environments see the packages of this one, but not its checkout: what is installed is what runs.
"""

import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.conftest import ROOT, plain_environ, until

NEWEST_GLIBC = (2, 28)
"""That of torch's own wheels: a system that runs them runs ours."""
SERVED = re.compile(r"listening on (http://\S+)")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "deploy/release.py", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def index(dist: Path) -> str:
    """An index with nothing else, as PEP 503 has it."""
    folder = dist.parent / "simple" / "cenote"
    folder.mkdir(parents=True)
    links = [f'<a href="{path.as_uri()}">{path.name}</a><br>' for path in sorted(dist.iterdir())]
    (folder / "index.html").write_text("\n".join(links))
    return folder.parent.as_uri()


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., Path]:
    """Installs something into a new environment; its folder of commands."""

    def install(*what: str) -> Path:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "new")], check=True)
        python = tmp_path / "new" / "bin" / "python"
        (packages,) = (tmp_path / "new" / "lib").glob("python*/site-packages")
        (packages / "others.pth").write_text(sysconfig.get_path("purelib"))  # added last, and its own .pth are not read
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--no-build-isolation", "--ignore-installed", *what], env=plain_environ(), check=True)
        return python.parent

    return install


def answer_of(commands: Path, folder: Path) -> tuple[list[float], str]:
    """What an installed `cenote serve` answers, started in a folder with nothing in it, and its log."""
    with (folder / "log").open("w") as log:
        command = [str(commands / "cenote"), "serve", "--model", "builtin", "--port", "0", "--lame-duck-s", "0"]
        process = subprocess.Popen(command, cwd=folder, env=plain_environ(), stderr=log)
    try:
        until(lambda: SERVED.search((folder / "log").read_text()) or process.poll() is not None, "the address")
        found = SERVED.search((folder / "log").read_text())
        assert found, (folder / "log").read_text()
        with httpx.Client(base_url=found[1], timeout=60) as http:
            until(lambda: http.get("/readyz").status_code == 200, "ready")
            answer = http.post("/v1/embeddings", json={"input": "a red circle"}).raise_for_status().json()
            assert http.get("/docs").status_code == http.get("/").status_code == 200, "pages are packed"
    finally:
        process.terminate()
        process.wait(40)
    return answer["data"][0]["embedding"], (folder / "log").read_text()


def test_an_index_would_take_the_files(dist: Path) -> None:
    names = [path.name for path in dist.iterdir()]
    compiled = [name for name in names if name.endswith(".whl") and not name.endswith("-any.whl")]
    assert len(names) == 3
    assert (len(compiled), sum(name.endswith(".tar.gz") for name in names)) == (1, 1)
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir())], check=True)
    if sys.platform == "linux":
        glibc = re.findall(r"manylinux_(\d+)_(\d+)_", compiled[0])
        assert glibc, compiled
        assert min(tuple(map(int, one)) for one in glibc) <= NEWEST_GLIBC
    assert all(path.stat().st_size < 40 << 20 for path in dist.iterdir()), "an index takes 100 MB"


def test_the_files_hold_what_runs_and_no_tests(dist: Path) -> None:
    for wheel in dist.glob("*.whl"):
        names = zipfile.ZipFile(wheel).namelist()
        assert not [name for name in names if name.startswith(("tests", "deploy", "docs"))]
        libraries = [name for name in names if name.endswith("_native.so")]
        assert len(libraries) == (0 if wheel.name.endswith("-any.whl") else 2)
        assert any(name.endswith("licenses/LICENSE") for name in names)
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        folders = {Path(name).parts[1] for name in file.getnames() if len(Path(name).parts) > 1}
    assert "tests" not in folders
    assert {"service", "schemas", "kernels", "pyproject.toml", "openapi.json"} <= folders


def test_pip_takes_it_from_an_index_and_it_serves(index: str, environment: Callable[..., Path], tmp_path: Path) -> None:
    (asked,) = re.findall(r"^pip install '(cenote.*)'$", (ROOT / "README.md").read_text(), re.MULTILINE)
    commands = environment("--index-url", index, asked)
    where = "import cenote_native, service; print(cenote_native.__file__, service.__file__)"
    shown = subprocess.run([commands / "python", "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout.count(str(tmp_path / "new")) == 2, "the checkout is not what runs"
    vector, log = answer_of(commands, tmp_path)
    assert len(vector) == 256
    assert "Traceback" not in log


def test_the_wheel_of_python_alone_serves(dist: Path, environment: Callable[..., Path], tmp_path: Path) -> None:
    (pure,) = dist.glob("*-any.whl")
    vector, log = answer_of(environment(str(pure)), tmp_path)
    assert "Traceback" not in log
    assert sum(one * one for one in vector) == pytest.approx(1, abs=1e-5)


def test_the_sdist_installs(dist: Path, environment: Callable[..., Path], tmp_path: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    commands = environment(str(sdist))
    shown = subprocess.run(
        [commands / "cenote", "models"], cwd=tmp_path, env=plain_environ(), capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("model        builtin")
    assert len([*(tmp_path / "new").rglob("_native.so")]) == 2, "compiled where there is a compiler"
