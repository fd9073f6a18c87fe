"""The decoder's kernels for CUDA, run on the CPU: against float64, into poisoned memory, in place, and who is asked."""

import pytest
import torch
from torch.nn.functional import silu

from cenote_kernels import apply_rope, decoder_rows, gate, rms_norm
from cenote_kernels.decoder_rows import apply_rope_kernel, gate_kernel, rms_norm_kernel
from tests.kernels.on_cpu import COMPILER, OnCpu

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++ on this machine")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
HALF_ULP = {torch.float32: 1e-6, torch.float16: 2**-11 + 1e-6, torch.bfloat16: 2**-8 + 1e-6}
"""Relative error of one rounding; of float32, of the sums."""


@pytest.fixture(params=[False, True], ids=["forwards", "backwards"])
def launch(request: pytest.FixtureRequest) -> OnCpu:
    return OnCpu(backwards=request.param)


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def poisoned(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full(shape, float("nan"), dtype=dtype)


def normed(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    exact = x.double()
    return weight.double() * exact / (exact.square().mean(-1, keepdim=True) + epsilon).sqrt()


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.double().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("many_rows", [0, 4096], ids=["few-warps", "all-warps"])
@pytest.mark.parametrize("width", [8, 1000, 2048, 2056, 8192])
def test_a_norm_is_rounded_once_and_writes_its_rows_alone(
    dtype: torch.dtype, width: int, many_rows: int, launch: OnCpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder_rows, "MANY_ROWS", many_rows)
    x, weight = (3 * drawn(0, 9, width + 8)).to(dtype)[:, 8:], 1 + drawn(1, width) / 4
    room = poisoned(10, width + 16, dtype=dtype)
    out = room[:9, 8 : width + 8]
    assert rms_norm_kernel(x, weight, 1e-5, out, launch=launch) is out
    torch.testing.assert_close(out.double(), normed(x, weight, 1e-5), atol=1e-7, rtol=HALF_ULP[dtype])
    assert room.isfinite().sum() == out.numel()
    assert len(launch.calls) == 1


@needs_compiler
def test_many_rows_take_few_warps_each(launch: OnCpu) -> None:
    for num_rows, dtype, width, blocks in (
        (4096, torch.bfloat16, 64, 512),
        (3, torch.bfloat16, 8192, 3),
        (3, torch.float32, 256, 1),
    ):
        x = drawn(0, num_rows, width).to(dtype)
        rms_norm_kernel(x, torch.ones(width), 1e-6, torch.empty_like(x), launch=launch)
        assert launch.calls[-1].grid == (blocks, 1)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("has_norm", [True, False])
@pytest.mark.parametrize("head_dim", [8, 64, 72, 80, 96, 128, 256])
def test_heads_are_rounded_once_in_place_too_and_their_neighbors_stay(
    dtype: torch.dtype, has_norm: bool, head_dim: int, launch: OnCpu
) -> None:
    for num_rows, num_heads in ((1, 1), (3, 7), (2, 34)):
        x, angle = drawn(0, num_rows, num_heads + 4, head_dim).to(dtype), drawn(1, num_rows, 1, head_dim + 8)
        cos, sin = (table[:, :, 4 : head_dim // 2 + 4] for table in (angle.cos(), angle.sin()))
        norm = (1 + drawn(2, num_heads, head_dim) / 4, 1e-5) if has_norm else None
        heads, before = x[:, 2 : num_heads + 2], x.clone()
        want = turned(heads if norm is None else normed(heads, *norm), cos, sin)
        room = poisoned(num_heads + 2, num_rows, head_dim, dtype=dtype)
        for out in (room[1:-1].transpose(0, 1), heads):
            assert apply_rope_kernel(heads, cos, sin, out, norm, launch=launch) is out
            torch.testing.assert_close(out.double(), want, atol=2e-6, rtol=HALF_ULP[dtype])  # pairs cancel
        assert room.isfinite().sum() == heads.numel()
        others = [*range(2), *range(num_heads + 2, num_heads + 4)]
        assert torch.equal(x[:, others], before[:, others])
    assert len(launch.calls) == 6


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gate_is_rounded_once_into_new_memory(dtype: torch.dtype, launch: OnCpu) -> None:
    for num_rows, width in ((1, 8), (7, 1544), (3, 3072)):
        both = (4 * drawn(0, num_rows, 2 * width + 8)).to(dtype)[:, : 2 * width]
        before = both.clone()
        out = gate_kernel(both, launch=launch)
        first, second = before.double().chunk(2, -1)
        torch.testing.assert_close(out.double(), silu(first) * second, atol=1e-6, rtol=HALF_ULP[dtype])
        assert out.is_contiguous()
        assert torch.equal(both, before)


@needs_compiler
def test_a_gate_of_great_numbers_is_one_or_zero(launch: OnCpu) -> None:
    g = torch.tensor([-1e30, -200.0, -89.0, -0.0, 0.0, 20.0, 89.0, 3e38])
    out = gate_kernel(torch.cat([g, torch.ones(8)])[None], launch=launch)[0]
    torch.testing.assert_close(out, torch.tensor([0.0, 0, 0, 0, 0, 20, 89, 3e38]), atol=1e-30, rtol=1e-7)


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_a_number_stays_so_in_its_own_row_and_head(dtype: torch.dtype, launch: OnCpu) -> None:
    x = drawn(0, 5, 4, 64).to(dtype)
    x[1, 2, 3], x[3, 0, 63] = float("nan"), float("inf")
    rows = rms_norm_kernel(x.flatten(1), torch.ones(256), 1e-6, torch.zeros(5, 256, dtype=dtype), launch=launch)
    assert (~rows.isfinite()).any(1).tolist() == [False, True, False, True, False]
    angle = drawn(1, 5, 1, 32)
    heads = apply_rope_kernel(
        x, angle.cos(), angle.sin(), torch.zeros_like(x), (torch.ones(4, 64), 1e-6), launch=launch
    )
    assert (~heads.isfinite()).any(-1).nonzero().tolist() == [[1, 2], [3, 0]]
    assert gate_kernel(x.flatten(1), launch=launch).isfinite().all(1).tolist() == [True, False, True, False, True]


def test_what_the_kernels_cannot_take_is_left_to_the_references() -> None:
    launch, ones = OnCpu(), torch.ones
    x, angle = drawn(0, 6, 64), drawn(1, 3, 1, 32)
    heads, norm = x.view(3, 2, 64), (ones(2, 64), 1e-6)
    for row, weight in (
        (drawn(0, 3, 66), ones(66)),  # no vectors of 16 bytes
        (drawn(0, 3, 8200), ones(8200)),  # more than a block keeps
        (x.t(), ones(6)),
        (x[:, 1:61], ones(60)),
        (x.double(), ones(64)),
        (x, ones(64, dtype=torch.float64)),
        (x, ones(1)),
    ):
        out = rms_norm_kernel(row, weight, 1e-6, torch.zeros(row.shape, dtype=row.dtype), launch=launch)
        torch.testing.assert_close(out.double(), normed(row, weight, 1e-6), atol=1e-6, rtol=1e-6)
    for states, cos, sin, given in (
        (heads, angle.cos().double(), angle.sin().double(), None),
        (heads, angle.cos(), angle.sin(), (norm[0][:, :1].expand(2, 64), 1e-6)),
        (drawn(0, 3, 2, 60), angle.cos()[..., :30], angle.sin()[..., :30], None),
        (drawn(0, 3, 2, 65)[..., 1:], angle.cos(), angle.sin(), norm),
    ):
        out = apply_rope_kernel(states, cos, sin, torch.zeros(states.shape), given, launch=launch)
        want = turned(states if given is None else normed(states, *given), cos, sin)
        torch.testing.assert_close(out.double(), want, atol=1e-6, rtol=1e-6)
    assert gate_kernel(drawn(0, 3, 12), launch=launch).shape == (3, 6)
    assert rms_norm_kernel(x[:0], ones(64), 1e-6, x[:0], launch=launch).shape == (0, 64)
    assert gate_kernel(x[:0], launch=launch).shape == (0, 32)
    assert launch.calls == []


@needs_compiler
def test_on_a_card_the_kernels_run_and_elsewhere_what_the_processor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = OnCpu()
    x, angle = drawn(0, 3, 64), drawn(1, 3, 1, 32)

    def all_three() -> list[torch.Tensor]:
        heads = torch.zeros(3, 1, 64)
        apply_rope(x.view(3, 1, 64), angle.cos(), angle.sin(), heads, None)
        return [rms_norm(x, torch.ones(64), 1e-6, torch.zeros(3, 64)), heads, gate(x.clone())]

    plain = all_three()
    monkeypatch.setattr(decoder_rows, "kernels_run_on", lambda device: True)
    for name in ("rms_norm_kernel", "apply_rope_kernel", "gate_kernel"):
        kernel = getattr(decoder_rows, name)
        monkeypatch.setattr(decoder_rows, name, lambda *given, kernel=kernel: kernel(*given, launch=launch))
    for ours, other in zip(all_three(), plain, strict=True):
        torch.testing.assert_close(ours, other, atol=1e-6, rtol=1e-6)
    assert [call.entry for call in launch.calls] == ["turn_heads_float32", "rms_norm_float32", "gate_float32"]
