"""Tuning of the front's process: CPU cores, threads of numpy, memory of large bodies, and the event loop's lag."""

import asyncio
import contextlib
import ctypes
import io
import math
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from service import metrics
from service.settings.settings import Settings

try:
    from uvloop import new_event_loop
except ImportError:  # no wheel for this system
    from asyncio import new_event_loop  # type: ignore[assignment]  # either is an event loop

__all__ = ["available_cores", "new_event_loop", "num_fronts", "return_large_blocks", "watch_loop"]

CGROUP_V2 = Path("/sys/fs/cgroup/cpu.max")
CGROUP_V1 = Path("/sys/fs/cgroup/cpu")


def available_cores() -> int:
    """Cores by affinity, cut to the cgroup's quota, at least one.

    Source: Linux cgroup-v2 `cpu.max`, cgroup-v1 `cpu.cfs_quota_us`; text-embeddings-inference issue 405 is what
    happens without it.
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota_cores()
    return max(1, affinity if quota is None else min(affinity, math.ceil(quota)))


CORES_PER_FRONT = 4
"""With `--fronts auto`: a front has a core to itself beside three that compute. Measured on two cores only."""


def num_fronts(settings: Settings) -> int:
    """Front processes, as the settings say or as the cores allow."""
    return max(1, available_cores() // CORES_PER_FRONT) if settings.fronts == "auto" else settings.fronts


def _quota_cores() -> float | None:
    try:
        if CGROUP_V2.exists():
            quota, period = CGROUP_V2.read_text().split()
        else:
            quota = (CGROUP_V1 / "cpu.cfs_quota_us").read_text().strip()
            period = (CGROUP_V1 / "cpu.cfs_period_us").read_text().strip()
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError):
        return None


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


NUMPY: Final = "numpy._core._multiarray_umath"
"""Numpy's own library, which OpenBLAS is linked with."""
BLAS_SETTER: Final = "openblas_set_num_threads"
BLAS_SETTERS: Final = (f"scipy_{BLAS_SETTER}64_", f"scipy_{BLAS_SETTER}", f"{BLAS_SETTER}64_", BLAS_SETTER)
"""Its names in numpy's wheels, and in distributions."""


def compute_alone() -> bool:
    """Let numpy's products be computed by the thread that asks: others would take the engine's cores.

    Returns:
        whether it did; not with another library than OpenBLAS.
    """
    library = ctypes.CDLL(import_module(NUMPY).__file__)  # a name is looked for in what it is linked with, too
    setters = [getattr(library, name) for name in BLAS_SETTERS if hasattr(library, name)]
    for setter in setters:
        setter(1)
    return bool(setters)


SAMPLE_S = 0.1

SWITCH_INTERVAL_S = 0.001
"""Longest time that a thread keeps Python's global lock while the loop wants it. Python's own 5 ms come on top each
time that the loop wakes while prompts are made."""

SCHEDSTAT = "/proc/thread-self/schedstat"


async def watch_loop() -> None:
    """Note the loop's lag indefinitely, and let threads give way to it sooner."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as opened:
        read_waited_s = _waiting_clock(opened)
        waited_s = read_waited_s()
        while True:
            due_s = loop.time() + SAMPLE_S
            await asyncio.sleep(SAMPLE_S)
            lag_s = max(0.0, loop.time() - due_s)
            before_s, waited_s = waited_s, read_waited_s()
            metrics.LOOP_LAG.observe(lag_s)
            metrics.LOOP_HELD.observe(max(0.0, lag_s - (waited_s - before_s)))


def _waiting_clock(opened: contextlib.ExitStack) -> Callable[[], float]:
    """Tells how many seconds this thread has been ready to run and had no core; 0 where nobody counts that.

    The kernel's counts are opened once: to open them each time costs more than the rest.

    Source: the kernel's documentation, scheduler/sched-stats, `/proc/<pid>/schedstat`.
    """
    try:
        stat = opened.enter_context(io.FileIO(SCHEDSTAT))
    except OSError:
        return lambda: 0.0
    return lambda: int(os.pread(stat.fileno(), 128, 0).split()[1]) / 1e9
