"""The engine's use of a CPU: freed memory is kept, weights lie on huge pages, and threads keep their cores."""

import ctypes
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from cenote_kernels.cpu.library import libgomp

OWN_PAGES_BYTES: Final = 32 << 20
"""Blocks from here on have pages of their own; glibc allows no more."""
KEPT_BYTES: Final = 512 << 20
"""Free memory at the end of the heap that is kept."""

HUGE_BYTES: Final = 2 << 20
LEAST_PRESENT: Final = 0.9
"""Share of a block's pages that are in use where it is moved onto one huge page; the rest becomes the process's."""

_MADV_COLLAPSE = 25  # linux/mman.h
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h

BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_DYNAMIC")
"""Variables by which an operator binds threads; `OMP_PROC_BIND=false` leaves all free."""


def keep_heap(environ: Mapping[str, str] = os.environ) -> bool:
    """Give back what loading left behind, then keep the memory that forwards free.

    glibc gives a large block back to the kernel when it is freed, and each page of the next one is asked for and zeroed
    again: a tenth of the time of a text forward. Kept, the engine holds at rest what its largest forward needed, which
    its memory limit must allow for in any case.

    Returns:
        Whether it did: not without glibc, and not against an operator's own `MALLOC_…_THRESHOLD_`.

    Source: mallopt(3), `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD`.
    """
    libc = ctypes.CDLL(None)
    if any(name in environ for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")):
        return False
    if not (hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt")):
        return False
    libc.malloc_trim(0)
    has_set = libc.mallopt(_M_MMAP_THRESHOLD, OWN_PAGES_BYTES), libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
    return all(has_set)


def keep_cores(num_threads: int, environ: Mapping[str, str] = os.environ) -> list[int]:
    """Bind the calling thread and the one that computes beside it to a core each, where two threads have two cores.

    When a short query comes, the kernel may wake the main thread on the core that the front still runs on, or the
    second thread on the main thread's core. There it waits, while the main thread spins for it at the end of a product,
    until the kernel parts them: 19 ms for a forward of 6, in one of four after a pause. With fewer threads than cores
    there is a free core to wake on; with more than two, libgomp ends and starts threads between pieces of different
    width. Threads that the calling one starts later inherit its core; those that exist stay free.

    Returns:
        The core of each, the calling thread's first: by the process's number, so that two engines seldom choose alike.
        One where the runtime of torch's threads is not libgomp, and none where nothing was bound.

    Source: sched(7), sched_setaffinity(2); libgomp's `gomp_team_start` for what it does with its threads, and
    `GOMP_parallel`, which is what a compiler calls for a parallel region.
    """
    if not hasattr(os, "sched_setaffinity") or any(name in environ for name in BINDING):
        return []
    cores = sorted(os.sched_getaffinity(0))
    if not len(cores) == num_threads == 2:
        return []
    if os.getpid() % 2:
        cores.reverse()
    try:
        os.sched_setaffinity(0, cores[:1])
    except OSError:  # a sandbox that does not allow it, or a core that has just been taken away
        return []
    return cores if _bind_team(cores) else cores[:1]


def _bind_team(cores: Sequence[int]) -> bool:
    """Bind each thread of the team that computes for the calling one to its core; whether libgomp keeps that team."""
    if (runtime := libgomp()) is None:
        return False
    bound = list[int]()

    def bind(_: object) -> None:
        number = runtime.omp_get_thread_num()
        with suppress(OSError):
            os.sched_setaffinity(0, cores[number : number + 1])
            bound.append(number)

    runtime.GOMP_parallel(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(bind), None, len(cores), 0)
    return sorted(bound) == list(range(len(cores)))


def mapped_blocks() -> Collection[int]:
    """Addresses of the blocks of 2 MiB that the process has now; none where the kernel does not say."""
    maps = Path("/proc/self/maps")
    return frozenset(_own_blocks(maps.read_text())) if maps.exists() else frozenset()


def use_huge_pages(but: Collection[int] = ()) -> int:
    """Put the process's memory onto pages of 2 MiB, wherever that much of it lies together.

    A lone short query reads every weight once. In pages of 4 KiB each of them costs a look-up that the processor has
    forgotten since the last query, and under a hypervisor two; the weights of a small model are read in two thirds of
    the time after it. Memory does not grow: a block is moved only where nearly all of it is in use.

    Args:
        but: blocks that stay as they are: a start pays 0.5 ms for each that is moved.

    Returns:
        Bytes that were moved: 0 where the kernel cannot (Linux before 6.1, other systems).

    Source: madvise(2), `MADV_COLLAPSE`; proc_pid_pagemap(5), whose highest bit says that a page is there.
    """
    maps, pagemap = Path("/proc/self/maps"), Path("/proc/self/pagemap")
    if not (maps.exists() and pagemap.exists()):
        return 0
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    num_moved = 0
    with pagemap.open("rb") as pages:
        for start in _own_blocks(maps.read_text()):
            if start in but:
                continue
            pages.seek(start // page_bytes * 8)
            entries = np.frombuffer(pages.read(HUGE_BYTES // page_bytes * 8), np.uint64)
            if np.count_nonzero(entries >> np.uint64(63)) >= LEAST_PRESENT * len(entries) > 0:
                num_moved += libc.madvise(start, HUGE_BYTES, _MADV_COLLAPSE) == 0
    return num_moved * HUGE_BYTES


def _own_blocks(maps: str) -> Iterator[int]:
    """Addresses of whole blocks of huge pages' size in private memory without a file."""
    for line in maps.splitlines():
        addresses, rights, _, _, _, *name = line.split(maxsplit=5)
        if rights == "rw-p" and name in ([], ["[heap]"]):
            start, stop = (int(address, 16) for address in addresses.split("-"))
            yield from range(-(-start // HUGE_BYTES) * HUGE_BYTES, stop - HUGE_BYTES + 1, HUGE_BYTES)
