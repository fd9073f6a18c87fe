"""Compiled libraries: one that was made of other sources than those beside it is not used."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cenote_native import can_run, choose, open_library
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
from cenote_kernels.cpu.library import chosen, runs_on
from service.model.linear.cpu_backend import has_bfloat16
cpu = torch.device("cpu")
formats = [runs_on(dtype, cpu) for dtype in (torch.float32, torch.bfloat16)]
print(*formats, has_bfloat16(), chosen().instructions)
"""


@compiled
@pytest.mark.parametrize("held", ["avx2", "default"])
def test_the_process_may_be_held_to_less_than_the_processor_has(held: str) -> None:
    environ = os.environ | {"ATEN_CPU_CAPABILITY": held}
    ran = subprocess.run([sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True)
    runs = can_run(open_library(FOLDERS[0]), "avx2") and held == "avx2"
    assert ran.stdout.split() == [str(runs), "False", "False", *(["avx2"] if runs else [])]


def test_it_is_said_why_no_wider_kernels_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(platform, "machine", lambda: "riscv64")
        assert choose(tmp_path) == (None, "", "there are no kernels for riscv64")
    assert choose(tmp_path) == (None, "", "nothing is compiled; install a C compiler, then Cenote again")
    shutil.copytree(FOLDERS[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "more.c").write_text("int more;\n")
    if (tmp_path / NAME).exists():
        assert choose(tmp_path) == (None, "", "what is compiled is not of these sources; install Cenote again")
    if can_run(open_library(FOLDERS[0]), "avx512"):
        held, why = {"ATEN_CPU_CAPABILITY": "avx2"}, "not avx512: ATEN_CPU_CAPABILITY=avx2 holds the process back"
        assert choose(FOLDERS[0], environ={})[1:] == ("avx512", "")
        assert choose(FOLDERS[0], environ=held)[1:] == ("avx2", why)
