"""Our own products against float64, for every post-op and shape that begins or ends a tile, panel or block."""

import pytest
import torch
from torch.nn import functional

from cenote_kernels.cpu.library import columns
from cenote_kernels.cpu.product import PackedWeight, PostOp, multiply, pack, packs

RELATIVE = {torch.float32: 1e-5, torch.bfloat16: 2**-8}
"""One rounding of the result; sums are float32."""


def drawn(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def product(
    x: torch.Tensor, weight: PackedWeight, post_op: PostOp = "", out: torch.Tensor | None = None
) -> torch.Tensor:
    """Into memory of NaN: what is not written shows."""
    if out is None:
        out = torch.full((len(x), weight.num_outputs), float("nan")).to(x.dtype)
    return multiply(x, weight, out, post_op).double()


@pytest.mark.parametrize("num_rows", [1, 5, 6, 7, 64, 257, 258, 259, 517, 1300])
@pytest.mark.parametrize(
    ("num_outputs", "num_inputs"), [(48, 32), (6, 34), (66, 2 * 1024 + 2), (1152, 384), (128, 4200)]
)
def test_every_ending_is_the_formulas(dtype: torch.dtype, num_rows: int, num_outputs: int, num_inputs: int) -> None:
    w = drawn(num_outputs, num_inputs, dtype=dtype) / num_inputs**0.5
    b, x = drawn(num_outputs, dtype=dtype, seed=1), drawn(num_rows, num_inputs, dtype=dtype, seed=2)
    residual = drawn(num_rows, num_outputs, dtype=dtype, seed=3)
    plain = x.double() @ w.double().t()
    wide = {"atol": 1e-5, "rtol": RELATIVE[dtype]}
    torch.testing.assert_close(product(x, pack(w, None)), plain, **wide)
    weight, want = pack(w, b), plain + b.double()
    torch.testing.assert_close(product(x, weight), want, **wide)
    torch.testing.assert_close(product(x, weight, "gelu_erf"), functional.gelu(want), **wide)
    torch.testing.assert_close(product(x, weight, "gelu_tanh"), functional.gelu(want, approximate="tanh"), **wide)
    torch.testing.assert_close(product(x, weight, "add", residual.clone()), want + residual.double(), **wide)
    gate, up = plain.chunk(2, dim=-1)
    torch.testing.assert_close(product(x, pack(w, None, is_gated=True), "gate"), functional.silu(gate) * up, **wide)


@pytest.mark.parametrize("post_op", ["gelu_erf", "gelu_tanh", "gate"])
def test_post_ops_hold_for_all_sizes_of_numbers(dtype: torch.dtype, post_op: PostOp) -> None:
    """A row is (x, 0); a gate has x and 1 for what it multiplies."""
    x = torch.cat([torch.linspace(-90, 90, 20_001), torch.tensor([-1e30, -1e-30, 0.0, 1e-30, 1e30])]).to(dtype)
    rows = torch.stack([x, torch.ones_like(x)], dim=1)
    weight = (
        pack(torch.eye(2).to(dtype), None, is_gated=True) if post_op == "gate" else pack(torch.eye(2).to(dtype), None)
    )
    found = product(rows, weight, post_op)[:, 0]
    exact = x.double()
    want = {
        "gelu_erf": functional.gelu(exact),
        "gelu_tanh": functional.gelu(exact, approximate="tanh"),
        "gate": functional.silu(exact),
    }[post_op]
    assert ((found - want).abs() <= RELATIVE[dtype] * want.abs() + 1e-6).all()


def test_a_row_that_is_no_number_stays_by_itself(dtype: torch.dtype) -> None:
    weight = pack(drawn(70, 16, dtype=dtype), None)
    x = drawn(9, 16, dtype=dtype)
    x[4, 3] = float("nan")
    for post_op in ("", "gelu_erf", "gelu_tanh"):
        finite = product(x, weight, post_op).isfinite()
        assert finite.all(-1).tolist() == [row != 4 for row in range(9)]
        assert not finite[4].any(), "a failure never comes back as a vector"


def test_rows_and_results_may_lie_apart_and_nothing_beside_them_is_written(dtype: torch.dtype) -> None:
    w, x = drawn(70, 16, dtype=dtype), drawn(30, 40, dtype=dtype)[:, 8:24]
    around = torch.full((32, 90), 7.0).to(dtype)
    multiply(x, pack(w, None), around[1:31, 10:80])
    want = (x.double() @ w.double().t()).to(dtype)
    torch.testing.assert_close(around[1:31, 10:80], want, atol=1e-4, rtol=2 * RELATIVE[dtype])
    around[1:31, 10:80] = 7.0
    assert (around == 7.0).all()


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_a_result_does_not_depend_on_threads_or_on_other_rows(dtype: torch.dtype, num_threads: int) -> None:
    weight, x = pack(drawn(200, 1030, dtype=dtype), drawn(200, dtype=dtype)), drawn(600, 1030, dtype=dtype)
    whole, before = product(x, weight), torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        assert torch.equal(product(x, weight), whole)
    finally:
        torch.set_num_threads(before)
    for rows in (slice(0, 1), slice(3, 10), slice(255, 600)):
        assert torch.equal(product(x[rows], weight), whole[rows])


def test_no_rows_give_no_results(dtype: torch.dtype) -> None:
    weight = pack(drawn(8, 4, dtype=dtype), None)
    assert product(torch.empty(0, 4).to(dtype), weight).shape == (0, 8)


def test_what_does_not_fit_is_refused(dtype: torch.dtype) -> None:
    weight, x, out = pack(drawn(8, 4, dtype=dtype), None), drawn(3, 4, dtype=dtype), torch.empty(3, 8).to(dtype)
    for rows, results in (
        (drawn(3, 6, dtype=dtype), out),
        (x, torch.empty(3, 9).to(dtype)),
        (x, torch.empty(4, 8).to(dtype)),
        (x.double(), out),
        (x, out.double()),
        (drawn(4, 3, dtype=dtype).t(), out),
    ):
        with pytest.raises(ValueError, match="rows and results"):
            multiply(rows, weight, results)
    with pytest.raises(ValueError, match="'gate'"):
        multiply(x, weight, out, "gate")
    with pytest.raises(ValueError, match="gated: True"):
        pack(drawn(8, 4, dtype=dtype), torch.zeros(8).to(dtype), is_gated=True)
    with pytest.raises(ValueError, match="gated: True"):
        pack(drawn(7, 4, dtype=dtype), None, is_gated=True)
    with pytest.raises(ValueError, match="no weight"):
        pack(drawn(8, 4, dtype=dtype), torch.zeros(8).double())
    assert not packs(torch.empty(8, 3).bfloat16()), "a row of words and a half"
    assert packs(torch.empty(8, 3))


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("is_gated", [False, True])
def test_a_weight_is_packed_panel_by_panel_and_the_rest_is_zeros(is_gated: bool) -> None:
    w = torch.arange(2 * 75 * 4, dtype=torch.float32).view(150, 4) + 1
    weight, panel = pack(w, None, is_gated=is_gated), columns("panel")
    outputs = weight.panels.view(torch.float32).transpose(1, 2).flatten(0, 1)  # outputs as they lie
    if is_gated:
        outputs = torch.cat([outputs.view(-1, 2, panel // 2, 4)[:, half].flatten(0, 1) for half in range(2)])
        first, second = outputs.chunk(2)
        assert torch.equal(torch.cat([first[:75], second[:75]]), w)
        assert not first[75:].any()
        assert not second[75:].any()
    else:
        assert torch.equal(outputs[:150], w)
        assert not outputs[150:].any()


def test_a_weight_is_held_once_and_filled_up_to_a_panel(dtype: torch.dtype) -> None:
    weight = pack(drawn(65, 4, dtype=dtype), None)
    panel = columns("panel")
    assert weight.panels.shape[::2] == (64 // panel + 1, panel)
    assert weight.panels.is_contiguous()
