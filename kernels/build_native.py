"""Hatch's hook that compiles the kernels for processors into the package: one library, x86-64 Linux, any C compiler.

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
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path(__file__).parent / "cenote_kernels" / "cpu"
FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fPIC", "-Wall", "-Wextra")
VARIANTS = ("-DBFLOAT16=0", "-DBFLOAT16=1")


class NativeKernels(BuildHookInterface):
    """Compiles `cenote_kernels/cpu/*.c` beside the sources, and puts the result into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling's `BuildHookInterface`; `version` is `standard` or `editable`."""
        library = FOLDER / "_native.so"
        if sys.platform != "linux" or platform.machine() != "x86_64":
            return
        try:
            library.unlink(missing_ok=True)
            compile_library(library)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"no kernels for the processor, attention is torch's: {error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        if version == "standard":
            build_data["force_include"][str(library)] = "cenote_kernels/cpu/_native.so"


def compile_library(library: Path) -> None:
    """Compile each source once for each number format.

    Raises:
        OSError: there is no compiler.
        CalledProcessError: it is too old, or something else is wrong with it.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    sources = sorted(FOLDER.glob("*.c"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.[ch]")))).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "digest.c"
        said.write_text(f'const char cenote_source_digest[] = "{digest}";\n')
        jobs = [(said, "-DBFLOAT16=0"), *((source, variant) for source in sources for variant in VARIANTS)]
        objects = [str(Path(folder) / f"{number}.o") for number in range(len(jobs))]
        for (source, variant), made in zip(jobs, objects, strict=True):
            subprocess.run([*compiler, *FLAGS, variant, "-c", str(source), "-o", made], check=True)
        subprocess.run([*compiler, "-shared", *objects, "-lm", "-o", str(library)], check=True)
