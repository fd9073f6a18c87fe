"""Numbers of an answer: the kernel prints them as orjson does, byte for byte."""

import ctypes
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cenote_native import can_run, choose, numbers
from cenote_native.library import INSTRUCTION_SETS
from cenote_native.numbers import MAX_NUMBER_BYTES, print_rows, print_rows_reference
from tests.conftest import ROOT
from tests.no_kernel import NO_KERNEL

_LIBRARY = choose(ROOT / "kernels" / "cenote_native", ctypes.PyDLL, environ={}).library
_SETS = [name for name in INSTRUCTION_SETS if can_run(_LIBRARY, name)]
CROSS_COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
NUM_COLUMNS = 1 << 10
LEAST, MOST = (int(np.float32(bound).view(np.uint32)) for bound in (1e-13, 1.0))
"""Range of the kernel, as bits, which are in the order of the numbers."""


@pytest.fixture(params=_SETS or [pytest.param(None, marks=pytest.mark.skip(NO_KERNEL))])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each set of instructions that this machine has prints the numbers of a test."""
    assert _LIBRARY is not None
    printing = numbers._printing(_LIBRARY, request.param)
    monkeypatch.setattr(numbers, "_native", lambda: printing)


def same(values: NDArray[np.float32]) -> None:
    rows = values.reshape(-1, NUM_COLUMNS)
    for made, reference in zip(print_rows(rows), print_rows_reference(rows), strict=True):
        if made != reference:
            pairs = zip(bytes(made[1:-1]).split(b","), bytes(reference[1:-1]).split(b","), strict=True)
            pytest.fail(f"printed, and by orjson: {[pair for pair in pairs if pair[0] != pair[1]][:10]}")


def left_out(rows: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> int:
    """Number of rows that the kernel leaves to the reference."""
    asked: list[int] = []

    def counted(few: NDArray[np.float32]) -> list[memoryview]:
        asked.append(len(few))
        return print_rows_reference(few)

    monkeypatch.setattr(numbers, "print_rows_reference", counted)
    print_rows(rows)
    monkeypatch.undo()
    return sum(asked)


def drawn(num_rows: int, seed: int) -> NDArray[np.float32]:
    """Numbers of every size that it is for, of either sign."""
    bits = np.random.default_rng(seed).integers(LEAST, MOST, num_rows * NUM_COLUMNS, np.uint32)
    return (bits | np.uint32(1 << 31) * (bits % 3 == 0)).astype(np.uint32).view(np.float32)


def short_decimals() -> NDArray[np.float32]:
    """Where digits end: what is a round number, what is just not, and what rounds up to one more digit."""
    decimals = np.array([float(f"{digits}e{-exponent}") for digits in range(1, 1000) for exponent in range(3, 16)])
    bits = decimals.astype(np.float32).view(np.int32)
    near = np.concatenate([bits + np.int32(step) for step in range(-2, 3)]).view(np.float32)
    return near[(near >= np.float32(1e-13)) & (near < 1)]


@pytest.mark.usefixtures("kernel")
def test_numbers_of_every_size() -> None:
    same(drawn(500, seed=1))


@pytest.mark.usefixtures("kernel")
def test_neighbours_of_short_decimals() -> None:
    near = short_decimals()
    for offset in range(16):  # those that are left out take all of their row with them
        same(np.resize(near[offset::16], (-(-len(near) // NUM_COLUMNS // 16), NUM_COLUMNS)))


@pytest.mark.usefixtures("kernel")
def test_unit_vectors_are_the_kernels_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(2).standard_normal((2000, 256)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert left_out(rows, monkeypatch) < 20


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("odd", [0.0, -0.0, 1.0, -1.0, 0.5, 3.75, 1e-13, 1e-20, 1e20, 1e-45, np.nan, np.inf])
def test_a_row_with_what_the_kernel_is_not_for_is_printed_all_the_same(odd: float) -> None:
    rows = drawn(3, seed=3).reshape(3, -1).copy()
    rows[1, 77] = odd
    same(rows)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("dimensions", range(19))
def test_rows_of_every_length(dimensions: int) -> None:
    rows = drawn(1, seed=4)[: 5 * dimensions].reshape(5, dimensions)
    assert [bytes(row) for row in print_rows(rows)] == [bytes(row) for row in print_rows_reference(rows)]


@pytest.mark.parametrize("dtype", ["i1", "u1", "<f8"])
def test_other_formats(dtype: str) -> None:
    rows = np.arange(12).reshape(3, 4).astype(dtype)
    assert [bytes(row) for row in print_rows(rows)] == [bytes(row) for row in print_rows_reference(rows)]


def test_no_rows() -> None:
    assert list(print_rows(np.empty((0, 4), np.float32))) == []


def test_no_number_is_longer_than_its_place() -> None:
    """Nine digits after five zeros, and with an exponent of two places."""
    longest = max(
        len(part) for row in print_rows_reference(drawn(2000, seed=5)[np.newaxis]) for part in bytes(row).split(b",")
    )
    assert 15 <= longest < MAX_NUMBER_BYTES


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(CROSS_COMPILER) is None or shutil.which(EMULATOR) is None, reason="nothing to run it")
def test_arm_prints_the_same(tmp_path: Path) -> None:
    """The kernel for NEON, by an emulator."""
    folder, program = ROOT / "kernels" / "cenote_native", tmp_path / "print"
    sources = [folder / "numbers.c", Path(__file__).parent / "print_stdin.c"]
    flags = ["-std=gnu11", "-O3", "-fno-math-errno", "-ffp-contract=fast", "-DVARIANT=neon", "-static"]
    subprocess.run([CROSS_COMPILER, *flags, *map(str, sources), "-o", str(program)], check=True)
    rows = np.concatenate([drawn(500, seed=6), short_decimals()])
    rows = np.resize(rows, (-(-len(rows) // 77), 77))  # of which the last is not a whole register
    asked = np.array(rows.shape, np.int64).tobytes() + rows.tobytes()
    said = subprocess.run([EMULATOR, str(program)], input=asked, capture_output=True, check=True).stdout
    ends, text = np.frombuffer(said[: 8 * len(rows)], np.int64), said[8 * len(rows) :]
    printed = [text[start:end] for start, end in pairwise([0, *ends.tolist()])]
    assert sum(not row for row in printed) < 20
    for made, reference in zip(printed, print_rows_reference(rows), strict=True):
        assert made in (b"", reference)


@pytest.mark.usefixtures("kernel")
@pytest.mark.slow
@pytest.mark.parametrize("first", range(LEAST, MOST, 1 << 26))
def test_every_number(first: int) -> None:
    """All 370 million of them."""
    for start in range(first, min(first + (1 << 26), MOST), 1 << 22):
        bits = np.arange(start, min(start + (1 << 22), MOST), dtype=np.uint32)
        same(np.resize(bits, (-(-len(bits) // NUM_COLUMNS), NUM_COLUMNS)).view(np.float32))
