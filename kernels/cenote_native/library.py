"""Libraries that `kernels/build_native.py` compiled beside their sources, when the package was built.

Nothing is compiled here. A package that was built without a C compiler, or for another processor, has no library, and
callers do without; so do those whose library is older than the sources beside it.
"""

import ctypes
import hashlib
import logging
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

NAME: Final = "_native.so"
INSTRUCTION_SETS: Final = ("avx512", "avx2", "neon")
"""That kernels are compiled for, the widest first."""

logger = logging.getLogger("cenote.kernels")


class Chosen(NamedTuple):
    """What of a folder's kernels runs in this process.

    Attributes:
        library: None where no kernel runs.
        instructions: one of `INSTRUCTION_SETS`, or "".
        why_no_more: why none of the wider ones runs, for people; "" where the widest does.
    """

    library: ctypes.CDLL | None
    instructions: str
    why_no_more: str


def choose(folder: Path, kind: type[ctypes.CDLL] = ctypes.CDLL, environ: Mapping[str, str] = os.environ) -> Chosen:
    """The widest instructions that a folder is compiled for, the processor has, and the process may use.

    Args:
        folder: of sources and library.
        kind: `PyDLL` for functions so short that other threads of Python may as well wait.
        environ: of the process.
    """
    library = open_library(folder, kind)
    if library is None:
        return Chosen(None, "", _why_none(folder))
    reasons = []
    for name in INSTRUCTION_SETS:
        if not hasattr(library, f"cenote_can_run_{name}"):
            continue
        if not may_use(name, environ):
            reasons.append(f"not {name}: ATEN_CPU_CAPABILITY={environ['ATEN_CPU_CAPABILITY']} holds the process back")
        elif not can_run(library, name):
            reasons.append(f"not {name}: this processor has none")
        else:
            return Chosen(library, name, ", ".join(reasons))
    return Chosen(None, "", ", ".join(reasons))


def _why_none(folder: Path) -> str:
    if (folder / NAME).exists():
        return "what is compiled is not of these sources; install Cenote again"
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64", "aarch64", "arm64"):
        return f"there are no kernels for {machine}"
    return "nothing is compiled; install a C compiler, then Cenote again"


def can_run(library: ctypes.CDLL | None, variant: str) -> bool:
    """True if a library has this variant of its kernels, and the processor what it takes: `avx512_bfloat16`, say."""
    return bool(getattr(library, f"cenote_can_run_{variant}", bool)())


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
