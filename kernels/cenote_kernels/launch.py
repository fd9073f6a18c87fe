"""A described kernel launch, run on torch's current stream; the only file that hands pointers to a GPU.

A `Call` says everything about one launch and holds its tensors. Ops make calls, a `Launch` runs them: `on_device` here,
and a C++ stand-in in the tests, which so prove grids and arguments as well as kernels.
"""

import ctypes
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch

from cenote_kernels.nvrtc import cubin, cuda_core

Argument = torch.Tensor | ctypes.c_int32 | ctypes.c_int64 | ctypes.c_float


class Call(NamedTuple):
    """One launch.

    Attributes:
        source: file in `cuda/`, without its ending.
        entry: kernel in that file.
        grid: blocks along x and y.
        threads: threads of a block.
        arguments: as the kernel takes them; a tensor stands for the address of its first element.
    """

    source: str
    entry: str
    grid: tuple[int, int]
    threads: int
    arguments: tuple[Argument, ...]


Launch = Callable[[Call], None]


class _Thread(threading.local):
    """A CUDA device is current in a thread: which one this file made so."""

    device = -1


_thread = _Thread()


def on_device(call: Call) -> None:
    """Enqueue the call on torch's current stream of its tensors' device. Reads nothing back, so it can be captured.

    A decoder's layer is a dozen launches: what one needs beside its arguments is made once and kept.

    Raises:
        ImportError: cuda-python is not installed.
        RuntimeError: the kernel cannot be compiled or launched.
    """
    index, arguments = -1, list[Any]()
    for one in call.arguments:
        if isinstance(one, torch.Tensor):
            assert index in (-1, one.get_device()), call.entry
            index = one.get_device()
            arguments.append(one.data_ptr())
        else:
            arguments.append(one)
    if _thread.device == index == torch.cuda.current_device():
        _enqueue(call, index, arguments)
        return
    with torch.cuda.device(index):
        cuda_core().Device(index).set_current()  # torch's own primary context
        _thread.device = index
        _enqueue(call, index, arguments)


def _enqueue(call: Call, index: int, arguments: list[Any]) -> None:
    stream = _stream(torch._C._cuda_getCurrentRawStream(index), index)
    config = _config(call.grid, call.threads)
    cuda_core().launch(stream, config, _kernel(call.source, call.entry, index), *arguments)


@cache
def _stream(handle: int, _device_index: int) -> Any:
    """Torch never gives a stream back, and each device has one of the handle 0."""
    return cuda_core().Stream.from_handle(handle)


@lru_cache(maxsize=4096)
def _config(grid: tuple[int, int], threads: int) -> Any:
    return cuda_core().LaunchConfig(grid=grid, block=threads)


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
