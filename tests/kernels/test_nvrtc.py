"""Compiling and keeping: every kernel for four architectures, and a cache that trusts nothing it did not write."""

import builtins
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cenote_kernels import availability, cubin_cache, nvrtc
from tests.conftest import ROOT

CONTENT = b"\x7fELF machine code"


def nvrtc_missing() -> str:
    """Why NVRTC cannot be used here, or nothing."""
    try:
        nvrtc.nvrtc_version()
    except Exception as error:  # noqa: BLE001 - whatever keeps it away
        return f"NVRTC cannot be loaded here ({type(error).__name__}); the package nvidia-cuda-nvrtc brings it"
    return ""


MISSING = nvrtc_missing()


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "NVRTC is here")
@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", nvrtc.SOURCES)
def test_every_kernel_compiles_without_a_gpu(name: str, arch: str, cache: Path) -> None:
    made = nvrtc.cubin(name, arch)
    assert made.startswith(b"\x7fELF")
    assert nvrtc.cubin(name, arch) == made
    assert len(list(cache.iterdir())) == 1


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "NVRTC is here")
def test_a_source_that_does_not_compile_is_an_error_and_is_not_kept(cache: Path) -> None:
    with pytest.raises(RuntimeError):
        cubin_cache.get("k", lambda: nvrtc.compile_source("nonsense", "nonsense", "sm_90"))
    assert not any(cache.iterdir())


def test_the_sources_are_those_in_the_folder_and_need_no_header_of_others() -> None:
    assert sorted(path.stem for path in nvrtc.FOLDER.glob("*.cu")) == list(nvrtc.SOURCES)
    for name in nvrtc.SOURCES:
        text = nvrtc.source(name)
        assert "#include" not in text
        assert "struct BFloat16" in text


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cenote" / "kernels"


class Compiler:
    """Counts how often it is asked."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.content = content
        self.num_calls = 0

    def __call__(self) -> bytes:
        self.num_calls += 1
        return self.content


def test_what_was_compiled_once_is_kept_for_the_owner_alone(cache: Path) -> None:
    compiler = Compiler()
    assert [cubin_cache.get("k", compiler) for _ in range(3)] == [CONTENT] * 3
    assert compiler.num_calls == 1
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert [(path.name, stat.S_IMODE(path.stat().st_mode)) for path in cache.iterdir()] == [("k.cubin", 0o600)]


def change_a_byte(place: Path) -> None:
    raw = bytearray(place.read_bytes())
    raw[-1] ^= 1
    place.write_bytes(raw)


def put_a_link(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


def put_another_kernels_file(place: Path) -> None:
    cubin_cache.get("other", Compiler(b"other machine code"))
    place.with_name("other.cubin").rename(place)


TAMPERINGS: list[Callable[[Path], object]] = [
    change_a_byte,
    put_a_link,
    put_another_kernels_file,
    lambda place: place.write_bytes(b""),
    lambda place: place.write_bytes(place.read_bytes()[:40]),
    lambda place: place.write_bytes(CONTENT),
    lambda place: place.chmod(0o640),
    lambda place: os.truncate(place, cubin_cache.MAX_FILE_BYTES + 1),
    lambda place: (place.unlink(), os.mkfifo(place)),
]


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=range(len(TAMPERINGS)))
def test_a_file_that_was_tampered_with_is_compiled_anew_and_replaced(tamper: object, cache: Path) -> None:
    cubin_cache.get("k", Compiler())
    tamper(cache / "k.cubin")
    compiler = Compiler()
    assert [cubin_cache.get("k", compiler) for _ in range(2)] == [CONTENT] * 2
    assert compiler.num_calls == 1
    assert not (cache / "k.cubin").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_or_a_folder_of_somebody_else_is_not_read(cache: Path) -> None:
    cubin_cache.get("k", Compiler())
    os.chown(cache / "k.cubin", 65534, 65534)
    compiler = Compiler()
    cubin_cache.get("k", compiler)
    assert compiler.num_calls == 1
    os.chown(cache, 65534, 65534)
    cubin_cache.get("k", compiler)
    assert compiler.num_calls == 2


def test_a_folder_that_others_may_write_is_not_used(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o770)
    compiler = Compiler()
    for _ in range(2):
        cubin_cache.get("k", compiler)
    assert compiler.num_calls == 2
    assert not any(cache.iterdir())
    assert "not this user's alone" in caplog.text


def test_a_link_in_place_of_the_folder_is_not_followed(cache: Path, tmp_path: Path) -> None:
    cache.parent.mkdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert cubin_cache.get("k", Compiler()) == CONTENT
    assert not any((tmp_path / "elsewhere").iterdir())


def test_without_a_folder_nothing_is_kept_and_all_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cubin_cache.get("k", Compiler()) == CONTENT


def test_a_disk_that_is_full_costs_a_compilation(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert cubin_cache.get("k", Compiler()) == CONTENT
    assert not any(cache.iterdir())


@pytest.mark.slow
def test_processes_that_compile_at_once_all_get_whole_files(cache: Path) -> None:
    script = (
        "import sys\n"
        "from cenote_kernels import cubin_cache\n"
        "content = b'\\x7fELF' + bytes(1 << 20)\n"
        "for turn in range(60):\n"
        "    assert cubin_cache.get(f'k{turn % 3}', lambda: content) == content\n"
        "    if turn % 7 == int(sys.argv[1]): (cubin_cache.folder() / f'k{turn % 3}.cubin').unlink(missing_ok=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'kernels'}"}
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(i)], env=environment, stderr=subprocess.PIPE, text=True)
        for i in range(3)
    ]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert "broken" not in said
    assert {path.suffix for path in cache.iterdir()} <= {".cubin"}


def test_a_gpu_without_cuda_python_falls_back_and_says_so_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """The one thing pretended is the card: the import that fails is a real one."""
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.partition(".")[0] == "cuda":
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (9, 0))
    monkeypatch.setattr("importlib.import_module", without)
    nvrtc.nvrtc_version.cache_clear()
    availability.kernels_run_on.cache_clear()
    answers = [availability.kernels_run_on(torch.device("cuda:0")) for _ in range(3)]
    availability.kernels_run_on.cache_clear()
    assert answers == [False] * 3
    assert len(caplog.records) == 1
    assert "cuda-python is not installed" in caplog.text


def test_importing_the_package_does_not_import_cuda_core() -> None:
    script = "import sys, cenote_kernels; assert not {'cuda.core', 'cuda.bindings.nvrtc'} & set(sys.modules)"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'kernels'}"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
