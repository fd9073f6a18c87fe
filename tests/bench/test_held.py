"""A program that asks for AVX-512 is told that there is none, and all that it computes otherwise stays."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bench.held import copy_without_avx512

HAS_TOOLS = all(map(shutil.which, ("cc", "objdump"))) and platform.machine() == "x86_64"
pytestmark = [
    pytest.mark.slow,  # compiles
    pytest.mark.skipif(not HAS_TOOLS, reason="needs a compiler and objdump on x86-64"),
]

CODE = r"""
#include <stdio.h>
static unsigned kept(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low & 0xff;
}
int main(void) {
    volatile unsigned other = 0xd0010f;  /* the same bytes, not an instruction */
    printf("%u %d %d %u", kept(), !!__builtin_cpu_supports("avx512f"), !!__builtin_cpu_supports("avx2"), other);
}
"""


def test_a_copy_sees_the_registers_of_avx_alone(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "asks.c").write_text(CODE)
    subprocess.run(["cc", package / "asks.c", "-o", package / "asks.so"], check=True)
    copy = copy_without_avx512(package, tmp_path / "held")
    (_, _, has_avx2, other), held = (_said(one / "asks.so") for one in (package, copy))
    assert held == ["7", "0", has_avx2, other]
    assert copy_without_avx512(package, tmp_path / "held") == copy  # made once


def _said(program: Path) -> list[str]:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
