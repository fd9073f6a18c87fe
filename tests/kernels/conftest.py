"""Every instruction set whose kernels this machine can run, each tested as if the processor had no wider one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from cenote_kernels.cpu import library
from cenote_kernels.cpu.library import FORMATS
from cenote_native import Chosen, can_run, choose
from cenote_native.library import INSTRUCTION_SETS
from tests.conftest import ROOT
from tests.kernels.emulated import EmulatedLibrary
from tests.no_kernel import NO_KERNEL

SOURCES = ROOT / "kernels" / "cenote_kernels" / "cpu"
_LIBRARY = choose(SOURCES, environ={}).library
EMULATES = "CENOTE_EMULATED" in os.environ
"""Whether ARM's kernels are tested in place of this machine's: `make arm-check`."""
_RUNNING = (
    [("neon", torch.float32)]
    if EMULATES
    else [
        (name, dtype) for name, dtype in product(INSTRUCTION_SETS, FORMATS) if can_run(_LIBRARY, name + FORMATS[dtype])
    ]
)
_NONE = [pytest.param(None, marks=pytest.mark.skip(NO_KERNEL))]
SETS = [name for name, dtype in _RUNNING if dtype == torch.float32]


def run_by(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels of this instruction set run."""
    found: Any = _LIBRARY
    if EMULATES:
        found = _emulated()
        monkeypatch.setattr(torch.Tensor, "data_ptr", lambda tensor: found.data_ptr(tensor))
    monkeypatch.setattr(library, "chosen", lambda: Chosen(found, name, ""))
    _forget()


@cache
def _emulated() -> EmulatedLibrary:
    folder = Path(tempfile.mkdtemp())
    return EmulatedLibrary(folder, shutil.copytree(SOURCES, folder / "sources"))


def _forget() -> None:
    for function in (library.runs_on, library.kernel, library.columns):
        function.cache_clear()


@pytest.fixture(autouse=True)
def what_was_chosen_is_forgotten() -> Iterator[None]:
    """After each test, when `chosen` is itself again."""
    yield
    _forget()


@pytest.fixture(params=[pytest.param(pair, id=f"{pair[0]}-{str(pair[1])[6:]}") for pair in _RUNNING] or _NONE)
def dtype(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.dtype:
    """Each format of each instruction set, by whose kernels a test runs."""
    name, found = request.param
    run_by(name, monkeypatch)
    return found


@pytest.fixture(params=SETS or _NONE)
def instructions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each instruction set, by whose kernels a test in float32 runs."""
    run_by(request.param, monkeypatch)
    return request.param
