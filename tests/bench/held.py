"""Both sides of a run held to AVX2 on a processor that has AVX-512, as it would be on one without.

torch and oneDNN have switches for that, which the service's own kernels obey. ONNX Runtime has none, and OpenVINO obeys
oneDNN's in a part of its code alone. Both ask the processor by `xgetbv` whether the system keeps the registers of
AVX-512. So a copy of their libraries answers itself that it keeps those of AVX: `mov al, 7` in the place of `xgetbv`.

Source: Intel 64 and IA-32 manual, volume 1, 15.2 (detection of AVX-512F), volume 2, XGETBV.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

COPIES: Final = ROOT / ".bench" / "held"
SWITCHES: Final = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
_ASKS: Final = bytes([0x0F, 0x01, 0xD0])
"""`xgetbv`: what the system keeps, in eax and edx."""
_SAYS_AVX: Final = bytes([0xB0, 0x07, 0x90])
"""`mov al, 7`: registers of x87, SSE and AVX; `nop`. AVX-512's are bits 5 to 7."""


def is_held() -> bool:
    """True if this process and those that it starts are held to AVX2."""
    return SWITCHES.items() <= os.environ.items()


def copy_without_avx512(package: Path, parent: Path) -> Path:
    """A copy of a package, below `parent`, whose libraries do not see AVX-512; made once.

    Raises:
        RuntimeError: there is no `objdump`, which finds the places.
    """
    copy = parent / package.name
    if copy.exists():
        return copy
    if shutil.which("objdump") is None:
        raise RuntimeError("--held-to avx2 needs objdump (binutils) to hold ONNX Runtime and OpenVINO")
    partial = copy.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(package, partial)
    for library in partial.rglob("*.so*"):
        hide_avx512(library)
    return partial.rename(copy)


def hide_avx512(library: Path) -> None:
    """Let a library, or a program, find registers up to AVX alone; its file is written over."""
    code = bytearray(library.read_bytes())
    if _ASKS in code:  # disassembling takes a second for each megabyte
        for place in _places(library):
            assert code[place : place + len(_ASKS)] == _ASKS
            code[place : place + len(_ASKS)] = _SAYS_AVX
        library.write_bytes(code)


def _places(library: Path) -> Iterator[int]:
    """Where `xgetbv` stands in the file: the same bytes are parts of other instructions, too."""
    told = _objdump("-h", library)
    sections = [
        tuple(int(number, 16) for number in found)
        for found in re.findall(r"^ +\d+ \S+ +(\w+) +(\w+) +\w+ +(\w+) .*\n.*CODE", told, re.MULTILINE)
    ]
    for found in re.findall(r"^ *(\w+):\s+xgetbv", _objdump("-d", "--no-show-raw-insn", library), re.MULTILINE):
        address = int(found, 16)
        yield from (address - start + offset for size, start, offset in sections if start <= address < start + size)


def _objdump(*arguments: str | Path) -> str:
    return subprocess.run(["objdump", *arguments], capture_output=True, text=True, check=True).stdout
