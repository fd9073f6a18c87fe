"""Hatch's hook that compiles what is C into its packages: a library for each folder, x86-64 Linux, any C compiler.

Without a compiler, or elsewhere, the package is built as one of Python alone and does what torch does.
"""

import hashlib
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHELF = Path(__file__).parent
FOLDERS = {"cenote_kernels/cpu": ("-DBFLOAT16=0", "-DBFLOAT16=1"), "cenote_native": ("",)}
"""With the flags for which each of its sources is compiled."""
FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fPIC", "-Wall", "-Wextra")
NAME = "_native.so"


class NativeKernels(BuildHookInterface):
    """Compiles the `*.c` of each folder beside the sources, and puts the results into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling's `BuildHookInterface`; `version` is `standard` or `editable`."""
        if sys.platform != "linux" or platform.machine() != "x86_64":
            return
        for folder, variants in FOLDERS.items():
            library = SHELF / folder / NAME
            try:
                library.unlink(missing_ok=True)
                compile_library(library, variants)
            except (OSError, subprocess.CalledProcessError) as error:
                self.app.display_warning(f"nothing is compiled in {folder}, libraries do its work: {error}")
                continue
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
            if version == "standard":
                build_data["force_include"][str(library)] = f"{folder}/{NAME}"


def compile_library(library: Path, variants: Sequence[str]) -> None:
    """Compile each source of the library's folder once for each of the variants.

    Raises:
        OSError: there is no compiler.
        CalledProcessError: it is too old, or something else is wrong with it.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    sources, every = sorted(library.parent.glob("*.c")), sorted(library.parent.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in every)).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "digest.c"
        said.write_text(f'const char cenote_source_digest[] = "{digest}";\n')
        jobs = [(said, ""), *((source, variant) for source in sources for variant in variants)]
        objects = [str(Path(folder) / f"{number}.o") for number in range(len(jobs))]
        for (source, variant), made in zip(jobs, objects, strict=True):
            subprocess.run([*compiler, *FLAGS, *variant.split(), "-c", str(source), "-o", made], check=True)
        subprocess.run([*compiler, "-shared", *objects, "-lm", "-o", str(library)], check=True)
