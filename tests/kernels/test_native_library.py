"""Compiled libraries: one that was made of other sources than those beside it is not used."""

import shutil
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
