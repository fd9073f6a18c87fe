"""Products in oneDNN's layout against torch's, and what they leave in memory."""

import pytest
import torch
from torch.nn import functional

from service.model.linear.cpu_backend import can_prepack, can_prepack_decoder
from service.model.linear.linear import Linear
from service.model.linear.prepacked_linear import PrepackedGated, PrepackedLinear, padded_rows, whole_rows

TOLERANCE = 5e-6
"""Numbers are up to 5, and torch sums in another order."""
CPU = torch.device("cpu")

pytestmark = pytest.mark.skipif(not can_prepack(CPU, torch.float32), reason="no oneDNN for float32 on this processor")


@pytest.mark.parametrize("num_rows", [1, 3, 16, 257, 1024])
@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(32, 48), (384, 1152), (33, 7)])
@pytest.mark.parametrize("has_bias", [True, False])
@torch.inference_mode()
def test_products_are_torchs(num_rows: int, num_inputs: int, num_outputs: int, has_bias: bool) -> None:
    torch.manual_seed(num_rows)
    weight, bias = torch.randn(num_outputs, num_inputs) / num_inputs**0.5, torch.randn(num_outputs)
    linear = Linear(weight, bias if has_bias else None)
    x, residual = torch.randn(num_rows, num_inputs), torch.randn(num_rows, num_outputs)
    product, want = PrepackedLinear(linear), functional.linear(x, weight, linear.bias)
    assert (product.project_new(x) - want).abs().max() <= TOLERANCE
    assert (product.project_gelu(x) - functional.gelu(want)).abs().max() <= TOLERANCE
    assert (product.project_add(x, residual) - want - residual).abs().max() <= TOLERANCE


@pytest.mark.parametrize("num_rows", [1, 12, 512])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_a_decoders_products_are_torchs(num_rows: int, dtype: torch.dtype) -> None:
    if not can_prepack_decoder(CPU, dtype):
        pytest.skip("no oneDNN for bfloat16 on this processor")
    torch.manual_seed(num_rows)
    both = Linear((torch.randn(2 * 48, 64) / 8).to(dtype))
    x, residual = torch.randn(num_rows, 64).to(dtype), torch.randn(num_rows, 96).to(dtype)
    product, want = PrepackedLinear(both), functional.linear(x.double(), both.weight.double())
    wide = {"atol": TOLERANCE, "rtol": TOLERANCE if dtype == torch.float32 else 2**-8}
    torch.testing.assert_close(product.project(x, torch.empty_like(residual)).double(), want, **wide)
    torch.testing.assert_close(product.project_add(x, residual.clone()).double(), residual.double() + want, **wide)
    gate, up = want.chunk(2, dim=-1)
    twice = wide | {"rtol": 2 * wide["rtol"]}  # the gate is rounded before it is multiplied
    torch.testing.assert_close(PrepackedGated(both).multiply(x).double(), functional.silu(gate) * up, **twice)


@torch.inference_mode()
def test_gelu_is_the_exact_one_for_all_sizes_of_numbers() -> None:
    x = torch.cat([torch.linspace(-12, 12, 20_001), torch.tensor([-1e30, -1e-30, 0.0, 1e-30, 1e30])])[:, None]
    found = PrepackedLinear(Linear(torch.ones(1, 1))).project_gelu(x)
    want = functional.gelu(x.double())
    assert ((found - want).abs() <= TOLERANCE * want.abs().clamp_min(1)).all()


@torch.inference_mode()
def test_a_row_that_is_not_finite_stays_by_itself() -> None:
    product = PrepackedLinear(Linear(torch.randn(8, 16), torch.randn(8)))
    x = torch.randn(5, 16)
    x[2, 3] = float("nan")
    assert product.project_gelu(x).isfinite().all(-1).tolist() == [True, True, False, True, True]


def test_other_number_formats_stay_as_they_are() -> None:
    assert not can_prepack(CPU, torch.bfloat16)
    assert not can_prepack(torch.device("meta"), torch.float32)


def test_rows_come_in_few_numbers_and_little_is_filling() -> None:
    filled = {num_rows: padded_rows(num_rows) for num_rows in range(1, 8193)}
    assert all(num_rows <= number == filled[number] for num_rows, number in filled.items())
    assert max(number / num_rows for num_rows, number in filled.items() if num_rows > 8) <= 1.25
    assert max(number / num_rows for num_rows, number in filled.items() if num_rows > 256) <= 1.125
    assert len({number for num_rows, number in filled.items() if num_rows <= 1536}) == 44
    assert (filled[10], filled[33], filled[1500]) == (10, 40, 1536)
    whole = {most: whole_rows(most) for most in range(2, 8193)}
    numbers = {*filled.values()}
    assert all(number == max(one for one in numbers if one <= most) for most, number in whole.items())
    assert whole_rows(1) == 1
