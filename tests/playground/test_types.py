"""The modules' JSDoc is what TypeScript's strict checker finds in them; it can fail."""

import shutil
import subprocess
from pathlib import Path

from tests.conftest import ROOT

HERE = Path(__file__).parent
PAGE = ROOT / "service" / "playground" / "page"


def check(config: Path) -> subprocess.CompletedProcess[str]:
    command = [str(HERE / "node_modules" / ".bin" / "tsc"), "--project", str(config)]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)


def test_the_types_hold() -> None:
    ran = check(HERE / "tsconfig.json")
    assert ran.returncode == 0, ran.stdout


def test_a_wrong_type_would_be_found(tmp_path: Path) -> None:
    shutil.copytree(PAGE, tmp_path / "page")
    with (tmp_path / "page" / "sizes.js").open("a") as file:
        file.write('\nbytesOf("64", "float");\n')
    config = (HERE / "tsconfig.json").read_text().replace("../../service/playground/page", "page")
    (tmp_path / "tsconfig.json").write_text(config)
    ran = check(tmp_path / "tsconfig.json")
    assert ran.returncode != 0
    assert "sizes.js" in ran.stdout


def test_nobody_opts_out_of_the_checker() -> None:
    for path in PAGE.glob("*.js"):
        text = path.read_text()
        assert not [word for word in ("@ts-ignore", "@ts-nocheck", "@ts-expect-error") if word in text], path.name
        assert len(text.splitlines()) <= 250, path.name
