"""How the C library treats the memory of large bodies: what is freed goes back to the kernel.

A body of 30 MB is there several times for a moment: as it came, as JSON, as text. Once glibc has freed one such block
it keeps all of that size inside its heaps, one a thread, and there they stay between smaller ones. Fixed,
its threshold gives a large block pages of its own for good, and they go back with it; with two heaps for all threads
there are fewer holes. A request of a few kilobytes never gets there.

Source: mallopt(3), `M_MMAP_THRESHOLD`: "dynamic", unless it is set, and `M_ARENA_MAX`.
"""

import ctypes
import os
from collections.abc import Mapping
from typing import Final

OWN_PAGES_BYTES: Final = 256 << 10
"""Blocks from here on have pages of their own."""
KEPT_BYTES: Final = 16 << 20
"""Free memory at the end of the heap that is kept."""
MAX_HEAPS: Final = 2

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h


def return_large_blocks(environ: Mapping[str, str] = os.environ) -> bool:
    """Give back what large bodies took; before threads are started.

    Returns:
        whether it did: not without glibc, and not against an operator who says how in `MALLOC_…`.
    """
    libc = ctypes.CDLL(None)
    if any(name.startswith("MALLOC_") for name in environ) or not hasattr(libc, "mallopt"):
        return False
    pairs = ((_M_MMAP_THRESHOLD, OWN_PAGES_BYTES), (_M_TRIM_THRESHOLD, KEPT_BYTES), (_M_ARENA_MAX, MAX_HEAPS))
    has_set = [bool(libc.mallopt(name, value)) for name, value in pairs]
    return all(has_set)
