"""`use_huge_pages`: memory that is in use moves to pages of 2 MiB, other memory does not grow. In a process apart."""

import platform
import subprocess
import sys

import pytest

MOVE = """
import mmap, re
from pathlib import Path
from service.engine.startup.cpu_tuning import use_huge_pages
def kilobytes(name):
    return int(re.search(rf"^{name}: +(\\d+) kB", Path("/proc/self/smaps_rollup").read_text(), re.M)[1])
full, empty = (mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE) for _ in range(2))
full.write(b"1" * (32 << 20))
before = kilobytes("Rss")
moved = use_huge_pages()
print(moved >> 20, kilobytes("AnonHugePages") >> 10, kilobytes("Rss") - before >> 10, full[:] == b"1" * (32 << 20))
"""


def can_collapse() -> bool:
    """Linux from 6.1 on."""
    return sys.platform == "linux" and tuple(map(int, platform.release().split(".")[:2])) >= (6, 1)


@pytest.mark.skipif(not can_collapse(), reason="the kernel moves nothing on demand")
def test_what_is_in_use_moves_and_memory_does_not_grow() -> None:
    ran = subprocess.run([sys.executable, "-c", MOVE], capture_output=True, text=True, check=True, timeout=120)
    moved, huge, grown, is_same = ran.stdout.split()
    assert int(moved) >= 28  # without the ends of 32 MiB
    assert int(huge) >= 28
    assert int(grown) <= 8
    assert is_same == "True"
