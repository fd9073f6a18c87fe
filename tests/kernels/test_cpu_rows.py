"""Norms and turned heads against transformers' own, by the kernel where it runs and by torch."""

import pytest
import torch
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRMSNorm, apply_rotary_pos_emb

from cenote_kernels import apply_rope, decoder_rows, rms_norm, truncate_normalize
from cenote_kernels.cpu.rows import unit_rows
from tests.kernels.conftest import SETS, run_by

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
WITHIN = {torch.float32: (2e-6, 2e-6), torch.bfloat16: (2e-2, 8e-3), torch.float16: (2e-3, 1e-3)}


@pytest.fixture(params=["torch", *SETS], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "torch":
        monkeypatch.setattr(decoder_rows, "runs_on", lambda *_: False)
    else:
        run_by(request.param, monkeypatch)


def drawn(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("num_rows", "width"), [(1, 1), (3, 48), (30, 100), (900, 512)])
def test_a_norm_is_the_stock_one(dtype: torch.dtype, num_rows: int, width: int) -> None:
    norm = Qwen3VLTextRMSNorm(width).to(dtype)
    norm.weight.data += drawn(1, width).to(dtype) / 4
    x = (3 * drawn(0, num_rows, width + 5)).to(dtype)[:, 2 : width + 2]
    wide = torch.zeros(num_rows, width + 3, dtype=dtype)
    ours = rms_norm(x, norm.weight.detach().float(), norm.variance_epsilon, wide[:, 1 : width + 1])
    atol, rtol = WITHIN[dtype]
    torch.testing.assert_close(ours, norm(x).detach(), atol=atol, rtol=rtol)
    assert not wide[:, 0].any()
    assert not wide[:, width + 1 :].any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("has_norm", [True, False])
@pytest.mark.parametrize(("num_rows", "num_heads", "head_dim"), [(1, 1, 2), (9, 6, 16), (40, 3, 72), (700, 4, 128)])
def test_heads_are_normed_and_turned_as_the_stock_ones_in_place_too(
    dtype: torch.dtype, has_norm: bool, num_rows: int, num_heads: int, head_dim: int
) -> None:
    norm = Qwen3VLTextRMSNorm(head_dim).to(dtype)
    norm.weight.data += drawn(1, head_dim).to(dtype) / 4
    x = drawn(2, num_rows, num_heads + 2, head_dim).to(dtype)
    heads, angle = x[:, 1 : num_heads + 1], drawn(3, num_rows, head_dim // 2)
    stock = (norm(heads).detach() if has_norm else heads).float().transpose(0, 1)[None]
    cos, sin = (torch.cat([table, table], -1)[None] for table in (angle.cos(), angle.sin()))
    want = apply_rotary_pos_emb(stock, stock, cos, sin)[0][0].transpose(0, 1)
    given = (norm.weight.detach().float().expand(num_heads, -1).contiguous(), norm.variance_epsilon)
    apart, before = torch.empty_like(heads), x.clone()
    for out in (apart, heads):
        ours = apply_rope(heads, angle[:, None].cos(), angle[:, None].sin(), out, given if has_norm else None)
        atol, rtol = WITHIN[dtype]
        torch.testing.assert_close(ours.float(), want, atol=2 * atol, rtol=rtol)
    assert torch.equal(x[:, 0], before[:, 0])
    assert torch.equal(x[:, -1], before[:, -1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_not_a_number_stays_so_in_its_own_row(dtype: torch.dtype) -> None:
    x = drawn(0, 5, 4, 32).to(dtype)
    x[1, 2, 3], x[3, 0, 31] = float("nan"), float("inf")
    out = rms_norm(x.flatten(1), torch.ones(128), 1e-6, torch.empty(5, 128, dtype=dtype))
    assert (~out.isfinite()).any(1).tolist() == [False, True, False, True, False]
    angle = drawn(1, 5, 1, 16)
    turned = apply_rope(x, angle.cos(), angle.sin(), torch.empty_like(x), (torch.ones(4, 32), 1e-6))
    assert (~turned.isfinite()).any(-1).nonzero().tolist() == [[1, 2], [3, 0]]


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dimensions", [1, 3, 16, 100, 384])
def test_rows_of_unit_length_are_the_references_and_bad_ones_are_named(dimensions: int) -> None:
    raw = drawn(0, 40, 384)
    raw[3, 0], raw[5, 0], raw[7], raw[9, 383] = float("nan"), float("inf"), 0.0, float("nan")
    bad = {3, 5, 7} | ({9} if dimensions == 384 else set())
    for normalize in (True, False):
        rows, is_valid = unit_rows(raw, dimensions, normalize, 1e-3)
        good = torch.tensor(is_valid)
        assert {place for place, valid in enumerate(is_valid) if not valid} == bad
        torch.testing.assert_close(
            rows[good], truncate_normalize(raw, dimensions, normalize)[good], atol=1e-7, rtol=1e-6
        )
    assert unit_rows(raw[:1], 8, True, -1.0)[1] == [False]
    assert unit_rows(torch.tensor([[0.0], [float("nan")], [-2.0]]), 1, False, 1e-3)[1] == [True, False, True]
