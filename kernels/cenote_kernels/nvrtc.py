"""A kernel's source to machine code of one architecture, by NVRTC: at run time, without the CUDA toolkit.

In goes the name of a file in `cuda/` and an architecture, out comes a cubin. No GPU is needed for that. What is
compiled once is kept on disk (`cubin_cache`). Knows nothing of tensors, streams or launches.

Source: NVIDIA NVRTC 13 and cuda.core (Program, ProgramOptions).
"""

import hashlib
import importlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from cenote_kernels import cubin_cache

FOLDER = Path(__file__).parent / "cuda"
SOURCES = ("decoder_rows", "epilogue", "patchify", "scatter")
"""Every file that is compiled, without its ending."""

OPTIONS: dict[str, Any] = {"std": "c++17", "fma": False}
"""No contraction into multiply-add: where one is meant, the source says `fmaf`, and elsewhere rounding is torch's."""

_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


@cache
def cuda_core() -> Any:
    """The module `cuda.core`; in versions before 0.5 it was `cuda.core.experimental`.

    Raises:
        ImportError: cuda-python is not installed.
    """
    module = importlib.import_module("cuda.core")
    return module if hasattr(module, "Program") else importlib.import_module("cuda.core.experimental")


def source(name: str) -> str:
    """The text of `cuda/<name>.cu` with our headers in place of their includes, so that one hash covers all of it."""
    text = (FOLDER / f"{name}.cu").read_text()
    return _INCLUDE.sub(lambda found: (FOLDER / found[1]).read_text().replace("#pragma once\n", ""), text)


@cache
def nvrtc_version() -> tuple[int, int]:
    """Major and minor version of the NVRTC library that is loaded.

    Raises:
        RuntimeError: there is none; cuda.pathfinder's error is one.
    """
    result, major, minor = importlib.import_module("cuda.bindings.nvrtc").nvrtcVersion()
    if int(result) != 0:
        raise RuntimeError(f"nvrtcVersion failed with {int(result)}")
    return int(major), int(minor)


def cubin(name: str, arch: str) -> bytes:
    """Machine code of `cuda/<name>.cu`, from the cache or compiled.

    Args:
        name: one of `SOURCES`.
        arch: `sm_90` and the like.

    Raises:
        ImportError: cuda-python is not installed.
        RuntimeError: NVRTC is not there, or does not know the architecture.
    """
    text = source(name)
    identity = json.dumps([text, OPTIONS, nvrtc_version(), arch], sort_keys=True)
    key = hashlib.sha256(identity.encode()).hexdigest()
    return cubin_cache.get(key, lambda: compile_source(text, name, arch))


def compile_source(text: str, name: str, arch: str) -> bytes:
    """Compile now, whatever the cache holds; see `cubin`."""
    core = cuda_core()
    try:
        program = core.Program(text, "c++", core.ProgramOptions(arch=arch, name=f"{name}.cu", **OPTIONS))
        return bytes(program.compile("cubin").code)
    except Exception as error:  # cuda.core's own classes have moved between versions; the log is in the text
        raise RuntimeError(f"NVRTC could not compile {name}.cu for {arch}: {error}") from error
