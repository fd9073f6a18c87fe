"""Runs the kernels' own source on the CPU: compiled with g++ and `shim/cuda_shim.h`, launched like `launch.on_device`.

No GPU, no second source: what is proven is the file that NVRTC compiles, with the grid and the arguments of the op.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import torch

from cenote_kernels import Row, as_tensor
from cenote_kernels.launch import Call
from cenote_kernels.nvrtc import FOLDER, source
from service.outputs.block import NumberFormat
from service.outputs.dense import DenseAsk


def output(
    dimensions: int, output_dtypes: tuple[NumberFormat, ...] = ("float32",), *, normalize: bool = True
) -> DenseAsk:
    """The output that a request asks for."""
    return DenseAsk(dimensions=dimensions, output_dtypes=output_dtypes, normalize=normalize)


def packed(dtype: torch.dtype = torch.float32, seed: int = 0, width: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    """States of five requests, and where each begins and ends; of the shortest, first and last token are the same."""
    states = torch.randn(24, width, generator=torch.Generator().manual_seed(seed)).to(dtype)
    return states, torch.tensor([0, 1, 8, 11, 12, 24])


def tensors(rows: Sequence[Row | None]) -> list[dict[str, torch.Tensor] | None]:
    """Rows as the numbers that they hold."""
    return [None if row is None else {kind: as_tensor(one, kind) for kind, one in row.items()} for row in rows]


COMPILER = shutil.which("g++")
RESULTS = {1: "a thread trapped", 2: "some threads wait at a barrier that the others never reach"}
FLAGS = ("-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-Wno-unknown-pragmas")
ENTRY = re.compile(r"^(?:KERNEL\([^)]*\) |ENTRY\()(\w+)", re.MULTILINE)


def entries(name: str) -> list[str]:
    """Every kernel of a source file."""
    return [entry for entry in ENTRY.findall(source(name)) if entry != "name"]


@cache
def library(name: str) -> ctypes.CDLL:
    """A source file as a shared library with a `launch_…` for each kernel."""
    return build(f'#include "{name}.cu"\n', entries(name))


def build(code: str, kernels: list[str]) -> ctypes.CDLL:
    """Any CUDA text that keeps to the words of the shim, the same way."""
    assert COMPILER is not None
    exports = "\n".join(f"SHIM_EXPORT({kernel})" for kernel in kernels)
    with tempfile.TemporaryDirectory(prefix="cenote-shim-") as folder:
        text, built = Path(folder, "all.cpp"), Path(folder, "all.so")
        text.write_text(f'#include "cuda_shim.h"\n{code}\n{exports}\n')
        includes = [f"-I{Path(__file__).parent / 'shim'}", f"-I{FOLDER}"]
        command = [COMPILER, *FLAGS, *includes, "-x", "c++", str(text), "-o", str(built)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(built))


class OnCpu:
    """A `Launch`. Threads of a block run one after the other; `backwards` begins with the last."""

    def __init__(self, backwards: bool = False) -> None:
        self.backwards = backwards
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> None:
        self.calls.append(call)
        assert 0 < call.grid[0] < 2**31
        assert 0 < call.grid[1] < 65536
        run = getattr(library(call.source), f"launch_{call.entry}")
        if result := self.run(run, call):
            raise RuntimeError(f"{call.entry}: {RESULTS[result]}")

    def run(self, launch: Callable[..., int], call: Call) -> int:
        """Run the stand-in: 0, or a key of `RESULTS`."""
        values = [ctypes.c_void_p(one.data_ptr()) if isinstance(one, torch.Tensor) else one for one in call.arguments]
        addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        return launch(*call.grid, call.threads, int(self.backwards), addresses)
