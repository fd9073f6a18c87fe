"""Compiled libraries: one that was made of other sources than those beside it is not used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cenote_native import open_library
from cenote_native.library import NAME
from tests.conftest import ROOT

FOLDERS = [ROOT / "kernels" / "cenote_kernels" / "cpu", ROOT / "kernels" / "cenote_native"]
compiled = pytest.mark.skipif(open_library(FOLDERS[0]) is None, reason="no compiler where this was installed")


@compiled
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_library_of_other_sources_is_not_used(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert open_library(copy) is not None
    source = next(copy.glob("*.c"))
    source.write_text(source.read_text() + "\n")
    with caplog.at_level("WARNING", "cenote.kernels"):
        assert open_library(copy) is None
    assert "older than their source" in caplog.text


def test_where_nothing_is_compiled_there_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert open_library(tmp_path) is None
    (tmp_path / NAME).write_bytes(b"not a library")
    assert open_library(tmp_path) is None
    assert not caplog.records


CODE = """
import torch
from cenote_kernels.cpu.library import runs_on
from cenote_native import numbers
from service.model.linear.cpu_backend import has_bfloat16
cpu = torch.device("cpu")
formats = [runs_on(dtype, cpu) for dtype in (torch.float32, torch.bfloat16)]
print(numbers._native() is not None, *formats, has_bfloat16())
"""


@pytest.mark.parametrize("held", ["avx2", "default"])
def test_no_kernel_for_avx512_runs(held: str) -> None:
    environ = os.environ | {"ATEN_CPU_CAPABILITY": held}
    ran = subprocess.run([sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"] * 4
