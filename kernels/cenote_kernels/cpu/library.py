"""The compiled kernels of this folder, and the threads that they run on: torch's own."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch

from cenote_native import Chosen, can_run, choose

ALONE_OPERATIONS: Final = 1 << 19
FORMATS: Final = {torch.float32: "", torch.bfloat16: "_bfloat16"}
"""Number formats that there are kernels for, as their names have them behind the instruction set."""


@cache
def chosen() -> Chosen:
    """The library, whose kernels run, and why none for wider instructions."""
    return choose(Path(__file__).parent)


@cache
def runs_on(dtype: torch.dtype, device: torch.device) -> bool:
    """True if kernels of this format run here; for bfloat16 the processor must multiply it."""
    library, instructions, _ = chosen()
    return device.type == "cpu" and dtype in FORMATS and can_run(library, instructions + FORMATS[dtype])


@cache
def kernel(name: str, dtype: torch.dtype) -> Any:
    """A function of the library; ask `runs_on` first."""
    library, instructions, _ = chosen()
    return getattr(library, f"cenote_{name}_{instructions}{FORMATS[dtype]}")


@cache
def columns(name: str) -> int:
    """A number of columns that the kernels lie side by side, such as `lanes`; ask `runs_on` first."""
    return int(kernel(name, torch.float32)())


@cache
def libgomp() -> ctypes.CDLL | None:
    """The libgomp that torch computes with, once torch is loaded; other packages bring their own."""
    maps = Path("/proc/self/maps")
    files = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines()} if maps.exists() else set()
    of_torch = (file for file in files if "libgomp" in Path(file).name and "torch" in Path(file).parent.as_posix())
    path = next(of_torch, None)
    return None if path is None else ctypes.CDLL(path)


def num_threads(num_operations: int) -> int:
    """Threads for so many multiplications: to wake another one takes as long as `ALONE_OPERATIONS` of them."""
    return 1 if num_operations <= ALONE_OPERATIONS or not parallel_region() else torch.get_num_threads()


@cache
def parallel_region() -> int:
    """Address of `GOMP_parallel`, which runs a function on several of torch's threads; 0 where there is none.

    Source: libgomp, `parallel.c`: what a compiler calls for `#pragma omp parallel`.
    """
    runtime = libgomp()
    return 0 if runtime is None else ctypes.cast(runtime.GOMP_parallel, ctypes.c_void_p).value or 0


@cache
def team_functions() -> tuple[int, int]:
    """Addresses of `omp_get_thread_num` and `omp_get_num_threads`, for code inside a parallel region; 0 likewise."""
    runtime = libgomp()
    if runtime is None:
        return 0, 0
    number, size = (
        ctypes.cast(one, ctypes.c_void_p).value or 0
        for one in (runtime.omp_get_thread_num, runtime.omp_get_num_threads)
    )
    return number, size
