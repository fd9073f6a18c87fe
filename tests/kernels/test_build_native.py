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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
@pytest.mark.parametrize("folder", build_native.FOLDERS)
def test_it_compiles_without_a_warning(folder: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sources = shutil.copytree(ROOT / "kernels" / folder, tmp_path / "sources", ignore=shutil.ignore_patterns("*.so"))
    build_native.compile_library(sources / "made.so", build_native.FOLDERS[folder])
    assert (sources / "made.so").stat().st_size > 10_000
    assert capfd.readouterr() == ("", "")


def test_without_a_compiler_the_package_is_one_of_python_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    for name, error in (("no-such-compiler", FileNotFoundError), ("false", subprocess.CalledProcessError)):
        monkeypatch.setenv("CC", name)
        with pytest.raises(error):
            build_native.compile_library(tmp_path / "kernels" / "cenote_native" / "made.so", ("avx512", "avx2", "neon"))
    told: list[str] = []
    app = SimpleNamespace(display_warning=told.append)
    monkeypatch.setattr(build_native, "SHELF", tmp_path / "kernels")
    hook = build_native.NativeKernels(str(tmp_path), {}, None, None, str(tmp_path), "wheel", app)
    data: dict[str, object] = {"force_include": {}}
    hook.initialize("standard", data)
    assert data == {"force_include": {}}
    assert ["cenote_kernels/cpu" in told[0], "cenote_native" in told[1]] == [True, True]
