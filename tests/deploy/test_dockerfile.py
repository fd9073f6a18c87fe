"""The Dockerfile: linted, and held against what is in the repository. `make image-check` builds it."""

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch

import pytest
import torch

from service.settings.setting_sources import PREFIX, load_settings
from tests.deploy.tools import DEPLOY, ROOT, run

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
JOINED = DOCKERFILE.replace("\\\n", " ").replace("${TORCH_VARIANT}", "cpu")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_hadolint_and_its_shellcheck_find_nothing() -> None:
    run("hadolint", "--failure-threshold", "style", DEPLOY / "Dockerfile")


def test_what_is_copied_exists_and_gets_past_the_ignore_file() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    let_in = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    copied = [
        source for line in re.findall(r"^COPY (?!--from)(.+)$", JOINED, re.MULTILINE) for source in line.split()[:-1]
    ]
    assert len(copied) > 8
    for source in (one.rstrip("/") for one in copied):
        assert (ROOT / source).exists(), source
        assert any(source == one or source.startswith(f"{one}/") for one in let_in), source


@pytest.mark.parametrize("kept_out", ["tests/conftest.py", ".git/config", "keys.jsonl", "service/__pycache__/x.pyc"])
def test_what_is_not_copied_stays_outside(kept_out: str) -> None:
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    is_out = False
    for line in (line for line in lines if not line.startswith("#")):
        pattern = line.removeprefix("!").replace("**/", "")
        if any(fnmatch(part, pattern) for part in (kept_out, *kept_out.split("/"))):
            is_out = not line.startswith("!")
    assert is_out


def test_its_settings_are_settings() -> None:
    environment = dict(re.findall(rf"({PREFIX}[A-Z_]+)=(\S+)", JOINED))
    settings = load_settings({}, environment)
    assert (settings.host, settings.port, settings.log_format) == ("0.0.0.0", 8000, "json")


def test_versions_are_those_of_the_project() -> None:
    version = re.search(r'image\.version="([^"]+)"', DOCKERFILE)
    assert version is not None
    assert version[1] == PROJECT["version"]
    python = re.search(r"PYTHON_IMAGE=python:(\d\.\d+)-", DOCKERFILE)
    assert python is not None
    assert python[1] == PROJECT["requires-python"].removeprefix(">=")


def test_everything_is_pinned_with_hashes_but_torch_which_differs_by_variant() -> None:
    locked = (DEPLOY / "requirements" / "serve.txt").read_text()
    pins = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", locked, re.MULTILINE))
    assert len(re.findall(r"--hash=sha256:", locked)) >= len(pins) > 25
    names = {re.split(r"[^A-Za-z0-9-]", one)[0] for one in PROJECT["dependencies"]}
    extras = {"av", "redis", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"}
    assert (names - {"torch"}) | extras <= pins.keys()
    assert "torch" not in pins
    assert "://" not in locked, "an index's address has no place here"


def test_a_build_with_the_wrong_torch_ends() -> None:
    own, other = ("cpu", "cuda") if torch.version.cuda is None else ("cuda", "cpu")
    for asked, code, said in ((own, 0, ""), (other, 1, "TORCH_INDEX"), ("gpu", 2, "expected `cpu` or `cuda`")):
        command = [sys.executable, DEPLOY / "check_torch.py", asked]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == code
        assert said in ran.stderr
