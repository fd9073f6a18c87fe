"""A described kernel launch, run on torch's current stream; the only file that hands pointers to a GPU.

A `Call` says everything about one launch and holds its tensors. Ops make calls, a `Launch` runs them: `on_device` here,
and a C++ stand-in in the tests, which so prove grids and arguments as well as kernels.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from cenote_kernels.nvrtc import cubin, cuda_core

Argument = torch.Tensor | ctypes.c_int32 | ctypes.c_int64

MAX_SHARED_BYTES = 46 * 1024
"""Dynamic shared memory of a block. Every card gives 48 KiB unasked, and the kernels' own arrays count in."""


@dataclass(frozen=True, slots=True)
class Call:
    """One launch.

    Attributes:
        source: file in `cuda/`, without its ending.
        entry: kernel in that file.
        grid: blocks along x and y.
        threads: threads of a block.
        arguments: as the kernel takes them; a tensor stands for the address of its first element.
        shared_bytes: dynamic shared memory of a block.
    """

    source: str
    entry: str
    grid: tuple[int, int]
    threads: int
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0


Launch = Callable[[Call], None]


def on_device(call: Call) -> None:
    """Enqueue the call on torch's current stream of its tensors' device.

    Raises:
        ImportError: cuda-python is not installed.
        RuntimeError: the kernel cannot be compiled or launched.
    """
    device = next(one.device for one in call.arguments if isinstance(one, torch.Tensor))
    assert all(one.device == device for one in call.arguments if isinstance(one, torch.Tensor)), call.entry
    core = cuda_core()
    with torch.cuda.device(device):
        core.Device(device.index).set_current()  # torch's own primary context
        stream = core.Stream.from_handle(torch.cuda.current_stream(device).cuda_stream)
        config = core.LaunchConfig(grid=call.grid, block=call.threads, shmem_size=call.shared_bytes)
        arguments = [one.data_ptr() if isinstance(one, torch.Tensor) else one for one in call.arguments]
        core.launch(stream, config, _kernel(call.source, call.entry, device.index), *arguments)


def architecture(device_index: int) -> str:
    """`sm_90` and the like."""
    major, minor = torch.cuda.get_device_capability(device_index)
    return f"sm_{major}{minor}"


@cache
def _module(source: str, arch: str) -> Any:
    return cuda_core().ObjectCode.from_cubin(cubin(source, arch), name=source)


@cache
def _kernel(source: str, entry: str, device_index: int) -> Any:
    return _module(source, architecture(device_index)).get_kernel(entry)
