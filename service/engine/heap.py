"""How the C library treats the memory of tensors on a CPU: what one forward frees, the next one uses.

glibc gives a large block back to the kernel when it is freed, and each page of the next one is asked for and zeroed
again: a tenth of the time of a text forward. Kept, the engine holds at rest what its largest forward needed, which its
memory limit must allow for in any case.

Source: mallopt(3), `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD`.
"""

import ctypes
import os
from collections.abc import Mapping
from typing import Final

OWN_PAGES_BYTES: Final = 32 << 20
"""Blocks from here on have pages of their own; glibc allows no more."""
KEPT_BYTES: Final = 512 << 20
"""Free memory at the end of the heap that is kept."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def settle_heap(environ: Mapping[str, str] = os.environ) -> bool:
    """Give back what loading left behind, then keep what forwards free.

    Returns:
        whether it did: not without glibc, and not against an operator who says how in `MALLOC_…_THRESHOLD_`.
    """
    libc = ctypes.CDLL(None)
    if any(name in environ for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")):
        return False
    if not (hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt")):
        return False
    libc.malloc_trim(0)
    has_set = libc.mallopt(_M_MMAP_THRESHOLD, OWN_PAGES_BYTES), libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
    return all(has_set)
