"""Writes the lock files beside it, by uv: `make deploy-lock`.

In: pyproject.toml with the extras of the image. Out: `serve.txt`, everything but torch; `cuda.txt`, torch with what its
CUDA build brings; `cpu.txt`, torch's version alone, since an index of CPU builds has files of its own; `build.txt`,
what makes our wheel. All but `cpu.txt` have a hash for each file, and none names an index.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
PROJECT = FOLDER.parents[1] / "pyproject.toml"
EXTRAS = ("audio", "otel", "pdf", "valkey", "video")
OF_CUDA = re.compile(r"nvidia-|triton|torch|cuda-toolkit")
"""Names of packages that torch's CUDA build alone wants."""
HEAD = "# Written by `make deploy-lock`; do not edit.\n"


def main() -> None:
    """Resolve anew and write."""
    wanted = [argument for extra in EXTRAS for argument in ("--extra", extra)]
    packages = _resolve([*wanted, str(PROJECT)])
    _write("serve.txt", [text for name, text in packages.items() if not OF_CUDA.match(name)])
    _write("cuda.txt", [text for name, text in packages.items() if OF_CUDA.match(name)])
    _write("cpu.txt", [packages["torch"].partition(" ")[0] + "\n"])
    _write("build.txt", list(_resolve(["-"], stdin="\n".join(_build_requires())).values()))


def _build_requires() -> list[str]:
    requires: list[str] = tomllib.loads(PROJECT.read_text())["build-system"]["requires"]
    return requires


def _resolve(arguments: list[str], stdin: str | None = None) -> dict[str, str]:
    """Packages by name, each with its lines."""
    flags = ["--python-version", "3.11", "--python-platform", "linux", "--generate-hashes", "--no-header"]
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-annotate", *flags, *arguments]
    text = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout
    blocks = re.findall(r"^\S.*\n(?:[ \t].*\n)*", text, re.MULTILINE)
    return {re.split(r"[=\[ ]", block)[0]: block for block in blocks}


def _write(name: str, blocks: list[str]) -> None:
    (FOLDER / name).write_text(HEAD + "".join(blocks))


if __name__ == "__main__":
    main()
