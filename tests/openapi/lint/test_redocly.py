"""Redocly's linter with our rules: both documents pass it, and the rule of our own can fail.

Runs where `make lint-openapi` has installed the linter; that target is the check itself.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

FOLDER = Path(__file__).parent
LINTER = FOLDER / "node_modules" / ".bin" / "redocly"

pytestmark = pytest.mark.skipif(not LINTER.exists(), reason="the linter is not installed: make lint-openapi")


def lint(*arguments: str, folder: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"REDOCLY_TELEMETRY": "off"}
    return subprocess.run(
        [LINTER, "lint", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


def lint_changed(folder: Path, document: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    shutil.copy(FOLDER / "redocly.yaml", folder)
    (folder / "changed.json").write_text(json.dumps(document))
    return lint("changed.json", folder=folder)


@pytest.mark.parametrize("api", ["full", "sdk"])
def test_a_document_passes_without_an_error_or_a_warning(api: str) -> None:
    ran = lint(api, "--format=json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


def test_an_operation_with_a_body_must_say_how_it_refuses(tmp_path: Path) -> None:
    document = json.loads((ROOT / "openapi.json").read_text())
    responses = document["paths"]["/v1/embeddings"]["post"]["responses"]
    document["paths"]["/v1/embeddings"]["post"]["responses"] = {"200": responses["200"]}
    ran = lint_changed(tmp_path, document)
    assert ran.returncode != 0
    assert "must say how it refuses" in ran.stdout + ran.stderr
