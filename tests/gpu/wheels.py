"""Wheels for `make check-gpu` on a machine without a network: what server and client need and torch's image lacks.

`python -m tests.gpu.wheels FOLDER [PYTHON]`; PYTHON is that machine's version, such as 3.12.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.conftest import ROOT

HELD = {
    "torch", "transformers", "tokenizers", "safetensors", "huggingface-hub", "numpy", "cuda-python", "cuda-core",
}  # fmt: skip
"""Dependencies that an image with torch and transformers has, and that are large."""
CLIENT = ("httptools>=0.7",)
"""The client of the server."""
PYTHON = "3.12"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
MAX_BYTES = 64 << 20
"""Of all of them: what can be carried to the machine."""


def main() -> int:
    """Download them; 1 when they are more than can be carried."""
    folder, python = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else PYTHON
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    target = ["--only-binary=:all:", "--implementation", "cp", "--python-version", python, "--dest", str(folder)]
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    subprocess.run([*command, *target, *platforms, *wanted()], check=True)
    wheels = sorted(folder.glob("*.whl"))
    num_bytes = sum(wheel.stat().st_size for wheel in wheels)
    print(f"{len(wheels)} wheels for Python {python}, {num_bytes / 1e6:.1f} MB, at most {MAX_BYTES / 1e6:.1f}")
    return int(num_bytes > MAX_BYTES)


def wanted() -> list[str]:
    """The service's own dependencies but for those that are there, and the client's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*(line for line in project["dependencies"] if _name(line) not in HELD), *CLIENT]


def _name(requirement: str) -> str:
    return re.split(r"[^a-z0-9._-]", requirement.lower())[0].rstrip("-._")


if __name__ == "__main__":
    sys.exit(main())
