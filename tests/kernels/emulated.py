"""The kernels for ARM, compiled by a cross compiler and called through qemu's emulation of one process.

A call's structure goes there with the memory that its pointers name, and what comes back is written over it. Memory of
tensors is known by their `data_ptr`, which is how all of it comes into a structure.
"""

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

from cenote_kernels.cpu.encoder import _Layer

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
LENGTHS: dict[str, Callable[[Any], int]] = {
    "segments": lambda call: 4 * 8 * call.num_segments,
    "queries": lambda call: 5 * 8 * call.num_queries,
    "is_valid": lambda call: call.num_rows,
}
"""Bytes of what is no tensor."""


class EmulatedLibrary:
    """As a `CDLL`: its functions are attributes."""

    def __init__(self, folder: Path, sources: Path) -> None:
        """Compile sources and what calls them into a folder, and start it."""
        from tests.kernels.test_build_native import build_native  # which is skipped where there is no hatchling

        library, caller = sources / "made.so", folder / "caller"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CC", COMPILER)
            build_native.compile_library(library, ("neon",), machine="aarch64")
        code = Path(__file__).parent / "emulated.c"
        subprocess.run([COMPILER, "-O1", "-Wall", "-Wextra", str(code), "-ldl", "-o", str(caller)], check=True)
        command = [*EMULATOR, str(caller), str(library)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._compiled = library.read_bytes()
        self._tensors: dict[int, tuple[int, int]] = {}
        self._data_ptr = torch.Tensor.data_ptr

    def data_ptr(self, tensor: torch.Tensor) -> int:
        """What `Tensor.data_ptr` is to be meanwhile: the memory is remembered."""
        memory, address = tensor.untyped_storage(), self._data_ptr(tensor)
        self._tensors[address] = memory.data_ptr(), memory.nbytes()
        return address

    def __getattr__(self, name: str) -> Callable[..., int]:
        if f"{name}\0".encode() not in self._compiled:
            raise AttributeError(name)
        return partial(self._call, name)

    def _call(self, name: str, reference: Any = None) -> int:
        sent = _Sent(None if reference is None else reference._obj, self._tensors)
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018
        sizes = _packed([len(sent.blocks), *map(len, sent.blocks)])
        pointers = _packed([len(sent.pointers), *chain.from_iterable(sent.pointers)])
        self._process.stdin.write(name.encode().ljust(64, b"\0") + sizes + b"".join(sent.blocks) + pointers)
        self._process.stdin.flush()
        result = self._process.stdout.read(8)
        assert len(result) == 8, f"{name}: ended by {self._process.wait()}"
        for number, block in enumerate(sent.blocks):
            back = self._process.stdout.read(len(block))
            if number in sent.addresses:
                ctypes.memmove(sent.addresses[number], back, len(back))
        return ctypes.c_int32.from_buffer_copy(result).value


class _Sent:
    """A structure and all that its pointers name, as blocks of memory.

    Attributes:
        blocks: the structure first.
        pointers: block and place of each, block and place that it names.
        addresses: where blocks come from that hold no pointers.
    """

    def __init__(self, call: Any, tensors: dict[int, tuple[int, int]]) -> None:
        self.blocks, self.pointers, self.addresses = [bytearray()], list[tuple[int, int, int, int]](), dict[int, int]()
        self._call, self._tensors = call, tensors
        if call is not None:
            self._add(0, 0, call)

    def _add(self, number: int, start: int, part: Any) -> None:
        block = self.blocks[number]
        block[start : start + ctypes.sizeof(part)] = bytes(part)
        for name, kind in part._fields_:
            place, value = start + getattr(type(part), name).offset, getattr(part, name)
            if name == "num_threads":
                block[place : place + 8] = _packed([1])
            elif name == "layers":
                of_layers = self._point(number, place, bytearray(), 0)
                for index, layer in enumerate((_Layer * part.num_layers).from_address(value)):
                    self._add(of_layers, index * ctypes.sizeof(layer), layer)
            elif isinstance(value, ctypes.Array) and issubclass(kind._type_, ctypes.Structure):
                for index, one in enumerate(value):
                    self._add(number, place + index * ctypes.sizeof(one), one)
            elif kind is ctypes.c_void_p:
                block[place : place + 8] = bytes(8)
                if value in self._tensors or name in LENGTHS:
                    address, size = self._tensors.get(value) or (value, LENGTHS[name](self._call))
                    pointed = self._point(number, place, bytearray(ctypes.string_at(address, size)), value - address)
                    self.addresses[pointed] = address

    def _point(self, number: int, place: int, block: bytearray, offset: int) -> int:
        """A new block that a place points into; its number."""
        self.blocks.append(block)
        self.pointers.append((number, place, len(self.blocks) - 1, offset))
        return len(self.blocks) - 1


def _packed(numbers: Sequence[int]) -> bytes:
    return b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)
