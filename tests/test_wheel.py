"""The wheel: what a server needs, and not what trained and measured the built-in models."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytest.importorskip("hatchling")
BUILTIN = "service/model/builtin/"
WEIGHTS = {f"{BUILTIN}{model}/model.safetensors" for model in ("checkpoint", "reranker")}


def test_training_scenes_and_scoring_are_not_packed(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "HATCH_BUILD_NO_HOOKS": "true"},  # nothing is compiled
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"service/cli.py", "service/openapi.json", "service/py.typed", "schemas/errors.py"} <= names
    packed = {name for name in names if name.startswith(BUILTIN)}
    assert packed >= WEIGHTS
    assert not any("cenote_builtin" in name for name in names)
    folders = {name.removeprefix(BUILTIN).partition("/")[0] for name in packed}
    assert folders == {"__init__.py", "checkpoint", "reranker", "samples"}
