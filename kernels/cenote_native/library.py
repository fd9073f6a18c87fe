"""Libraries that `kernels/build_native.py` compiled beside their sources, when the package was built.

Nothing is compiled here. A package that was built without a C compiler, or for another processor, has no library, and
callers do without; so do those whose library is older than the sources beside it.
"""

import ctypes
import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "_native.so"

logger = logging.getLogger("cenote.kernels")


def source_digest(folder: Path) -> str:
    """SHA-256 of the sources, by which a library says what it was made of."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.[ch]")))).hexdigest()


def may_use(instructions: str, environ: Mapping[str, str] = os.environ) -> bool:
    """False where torch's own switch, `ATEN_CPU_CAPABILITY`, holds the process to `avx2`, or to none (`default`).

    Args:
        instructions: `avx512`, `avx2` or `neon`.
        environ: of the process.
    """
    held = environ.get("ATEN_CPU_CAPABILITY")
    return held != "default" and (held, instructions) != ("avx2", "avx512")


def open_library(folder: Path, kind: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL | None:
    """The library of a folder, or None where there is none that belongs to the sources.

    Args:
        folder: of sources and library.
        kind: `PyDLL` for functions so short that other threads of Python may as well wait.
    """
    try:
        found = kind(str(folder / NAME))
        digest = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(found, "cenote_source_digest")))
    except (OSError, ValueError):  # none, or not one that this machine can load
        return None
    if digest.decode() == source_digest(folder):
        return found
    logger.warning("kernels: those for the processor are older than their source; install the package again")
    return None
