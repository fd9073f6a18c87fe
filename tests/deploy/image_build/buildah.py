"""Builds deploy/Dockerfile without a container engine: buildah as root, on a base made of Debian's own packages.

Where images can be pulled, the base is the Dockerfile's. Here it is Debian 12 with its Python 3.11, which stands in for
`python:3.11-slim-bookworm` by the argument PYTHON_IMAGE; every other line runs as it is written.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.deploy.tools import DEPLOY, INSTALLED, ROOT

FOLDER = INSTALLED / "image"
BASE = "localhost/cenote-python:3.11-bookworm"
IMAGE = "localhost/cenote:0.1.0-cpu"
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
STORAGE = f"""[storage]
driver = "vfs"
graphroot = "{FOLDER}/graph"
runroot = "{FOLDER}/run"
"""


def buildah(*arguments: str | Path) -> str:
    """Run buildah, which needs no engine and no daemon; return its standard output."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "storage.conf").write_text(STORAGE)
    environment = os.environ | {"CONTAINERS_STORAGE_CONF": str(FOLDER / "storage.conf"), "BUILDAH_ISOLATION": "chroot"}
    return _run(["buildah", *map(str, arguments)], environment)


def make_base() -> None:
    """The stand-in for the official image of Python, unless it is there from an earlier run."""
    if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}").split():
        return
    folder = FOLDER / "base"
    shutil.rmtree(folder, ignore_errors=True)
    _run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(folder)])
    (folder / "usr/lib/python3.11/EXTERNALLY-MANAGED").unlink()  # the official image lets pip install
    for name in ("python", "python3"):
        (folder / "usr/local/bin" / name).symlink_to("/usr/bin/python3")
    container = buildah("from", "scratch").strip()
    buildah("add", "--quiet", container, folder, "/")
    buildah("config", "--env", "PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    buildah("commit", "--quiet", "--rm", container, BASE)
    shutil.rmtree(folder)


def build(scratch: Path) -> None:
    """The image, with this machine's way to its package index."""
    conf, shared = pip_settings()
    (scratch / "pip.conf").write_text(conf)
    buildah(
        *("bud", "--format", "docker", "--pull-never", "--network", "host"),
        *("--ignorefile", DEPLOY / "Dockerfile.dockerignore", "--secret", f"id=pip,src={scratch / 'pip.conf'}"),
        *(argument for path in shared for argument in ("--volume", f"{path}:{path}:ro")),
        *("--build-arg", f"PYTHON_IMAGE={BASE}", "--build-arg", f"TORCH_INDEX={os.environ.get('TORCH_INDEX', '')}"),
        *("--file", DEPLOY / "Dockerfile", "--tag", IMAGE, ROOT),
    )


def pip_settings() -> tuple[str, list[str]]:
    """This machine's configuration of pip as one file, and the local folders that it needs."""
    said = _run([sys.executable, "-m", "pip", "config", "list"])
    values = dict(re.findall(r"^(?:global|install|download|:env:)\.([a-z-]+)='(.*)'$", said, re.MULTILINE))
    words = " ".join(values.values()).split()
    paths = {word for word in words if word.startswith("/")}
    paths |= {str(Path(word.removeprefix("file://")).parent) for word in words if word.startswith("file:///")}
    lines = [f"{name} = {value}\n" for name, value in values.items()]
    return "[global]\n" + "".join(lines), sorted(path for path in paths if Path(path).exists())


def configuration() -> dict[str, Any]:
    """The image's own configuration."""
    found: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
    return found


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}"
    return ran.stdout
