"""The hook that compiles the kernels for processors."""

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT

pytest.importorskip("hatchling")
SPEC = importlib.util.spec_from_file_location("build_native", ROOT / "kernels" / "build_native.py")
assert SPEC is not None
assert SPEC.loader is not None
build_native = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(build_native)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_it_compiles_without_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build_native.compile_library(tmp_path / "made.so")
    assert (tmp_path / "made.so").stat().st_size > 10_000
    assert capfd.readouterr() == ("", "")


def test_without_a_compiler_the_package_is_one_of_python_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    for name, error in (("no-such-compiler", FileNotFoundError), ("false", subprocess.CalledProcessError)):
        monkeypatch.setenv("CC", name)
        with pytest.raises(error):
            build_native.compile_library(tmp_path / "made.so")
    told: list[str] = []
    app = SimpleNamespace(display_warning=told.append)
    monkeypatch.setattr(build_native, "FOLDER", tmp_path / "kernels" / "cenote_kernels" / "cpu")
    hook = build_native.NativeKernels(str(tmp_path), {}, None, None, str(tmp_path), "wheel", app)
    data: dict[str, object] = {"force_include": {}}
    hook.initialize("standard", data)
    assert data == {"force_include": {}}
    assert "attention is torch's" in told[0]
