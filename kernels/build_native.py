"""Hatch's hook that compiles what is C into its packages: a library for each folder, by any C compiler.

On x86-64 and ARM, Linux and macOS. Without a compiler, or elsewhere, the package is one of Python alone, and libraries
do the work.
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

SHELF = Path(__file__).parent
AVX512 = "avx512f avx512bw avx512dq avx512vl fma"
INSTRUCTIONS = {
    "x86_64": {"avx512": AVX512, "avx512_bfloat16": f"{AVX512} avx512bf16", "avx2": "avx2 fma"},
    "aarch64": {"neon": ""},
    "arm64": {"neon": ""},
}
"""By machine: the variants of each kernel, and what a processor must have for it. NEON is part of every one."""
FOLDERS = {
    "cenote_kernels/cpu": ("avx512", "avx512_bfloat16", "avx2", "neon"),
    "cenote_native": ("avx512", "avx2", "neon"),
}
"""With the variants in which its sources are compiled, where the machine has them."""
FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-ffp-contract=fast", "-fPIC", "-Wall", "-Wextra")
NAME = "_native.so"
MACOS = "11.0"
"""The first on ARM."""


class NativeKernels(BuildHookInterface):
    """Compiles the `*.c` of each folder beside the sources, and puts the results into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling's `BuildHookInterface`; `version` is `standard` or `editable`."""
        if (sys.platform, platform.machine()) not in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")):
            return
        system = sysconfig.get_platform() if sys.platform == "linux" else f"macosx-{MACOS}-{platform.machine()}"
        for folder in FOLDERS:
            library = SHELF / folder / NAME
            try:
                library.unlink(missing_ok=True)
                compile_library(library, FOLDERS[folder])
            except (OSError, subprocess.CalledProcessError) as error:
                self.app.display_warning(f"nothing is compiled in {folder}, libraries do its work: {error}")
                continue
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{system.replace('-', '_').replace('.', '_')}"
            if version == "standard":
                build_data["force_include"][str(library)] = f"{folder}/{NAME}"


def compile_library(library: Path, variants: tuple[str, ...], machine: str = platform.machine()) -> None:
    """Compile each source of the library's folder once for each of the variants that the machine has.

    A function's name ends with its variant, `cenote_attend_avx2`; `cenote_can_run_avx2()` says whether the processor
    has what it takes.

    Raises:
        OSError: there is no compiler.
        CalledProcessError: it is too old, or something else is wrong with it.
    """
    compiler = shlex.split(os.environ.get("CC", "cc"))
    sources, every = sorted(library.parent.glob("*.c")), sorted(library.parent.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in every)).hexdigest()
    needs = {name: words.split() for name, words in INSTRUCTIONS[machine].items() if name in variants}
    lines = [f'const char cenote_source_digest[] = "{digest}";']
    for name, words in needs.items():
        asked = " && ".join(["1", *(f'__builtin_cpu_supports("{word}")' for word in words)])
        lines.append(f"int cenote_can_run_{name}(void) {{ return {asked}; }}")
    system = (f"-mmacosx-version-min={MACOS}",) if sys.platform == "darwin" else ()
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said.c"
        said.write_text("\n".join(lines) + "\n")
        jobs: list[tuple[Path, list[str]]] = [(said, [])]
        for name, words in needs.items():
            variant = [f"-DVARIANT={name}", f"-DBFLOAT16={int(name.endswith('bfloat16'))}", *(f"-m{w}" for w in words)]
            jobs += [(source, variant) for source in sources]
        objects = [str(Path(folder) / f"{number}.o") for number in range(len(jobs))]
        for (source, variant), made in zip(jobs, objects, strict=True):
            command = [*compiler, *FLAGS, *system, *variant, "-c", str(source), "-o", made]
            subprocess.run(command, check=True)
        subprocess.run([*compiler, *system, "-shared", *objects, "-lm", "-o", str(library)], check=True)
