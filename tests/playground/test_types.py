"""The modules' JSDoc is what TypeScript's strict checker finds in them; it can fail."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

HERE = Path(__file__).parent
PAGES = {
    "playground": ROOT / "service" / "playground" / "page",
    "docs": ROOT / "service" / "reference" / "page",
}
"""Folders by the path under which they are served: modules of the one import those of the other by it."""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The modules as they are served."""
    for path, folder in PAGES.items():
        shutil.copytree(folder, tmp_path / path)
    shutil.copy(HERE / "tsconfig.json", tmp_path)
    return tmp_path


def check(site: Path) -> subprocess.CompletedProcess[str]:
    command = [str(HERE / "node_modules" / ".bin" / "tsc"), "--project", str(site / "tsconfig.json")]
    return subprocess.run(command, cwd=site, capture_output=True, text=True, check=False)


def test_the_types_hold(site: Path) -> None:
    ran = check(site)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("file", "line"), [("playground/sizes.js", 'bytesOf("64", "float");'), ("docs/calls.js", "copyOf(1);")]
)
def test_a_wrong_type_would_be_found(site: Path, file: str, line: str) -> None:
    with (site / file).open("a") as module:
        module.write(f"\n{line}\n")
    ran = check(site)
    assert ran.returncode != 0
    assert file in ran.stdout


def test_nobody_opts_out_of_the_checker() -> None:
    for path in (path for folder in PAGES.values() for path in folder.glob("*.js")):
        text = path.read_text()
        assert not [word for word in ("@ts-ignore", "@ts-nocheck", "@ts-expect-error") if word in text], path.name
        assert len(text.splitlines()) <= 250, path.name
