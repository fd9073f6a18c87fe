"""Products in three parts of bfloat16: as exact as float32's, whatever the rows, and only where nothing is lost."""

from pathlib import Path

import pytest
import torch
from transformers import Qwen3VLModel

from service.checkpoint.hub import CHECKPOINT as BUILTIN
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import use_bfloat16
from service.errors import ModelError
from service.model.architectures import pooled_model
from service.model.linear import bf16_gemm, bf16x3_linear, cpu_backend
from service.model.linear.bf16_gemm import Gemm, find_gemm
from service.model.linear.bf16x3_linear import STACKED_ROWS, Bf16x3Linear, Scratch, is_bfloat16, keep_bfloat16, split
from service.model.linear.cpu_backend import gemm_of_parts
from service.model.linear.linear import Linear
from service.model.load import load_stock
from service.model.qwen3_vl.qwen3_vl import Qwen3VL

INPUTS, OUTPUTS = 320, 96


def by_torch(a: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, beta: float) -> None:
    """The same product, slowly: for machines without tiles, and to hold the fast one against."""
    out.copy_(a.float() @ weight.float().t() + (beta * out if beta else 0))


@pytest.fixture(params=["by torch", "on tiles"])
def gemm(request: pytest.FixtureRequest) -> Gemm:
    if request.param == "by torch":
        return by_torch
    if (found := gemm_of_parts(torch.device("cpu"), torch.float32)) is None:
        pytest.skip("this processor has no tiles for bfloat16, or this torch no MKL")
    return found


@pytest.fixture(scope="module")
def weight() -> torch.Tensor:
    return torch.randn(OUTPUTS, INPUTS, generator=torch.Generator().manual_seed(1)).bfloat16()


def rows(num_rows: int) -> torch.Tensor:
    """Numbers of very different sizes, as a residual stream has them."""
    draw = torch.Generator().manual_seed(num_rows)
    return torch.randn(num_rows, INPUTS, generator=draw) * torch.exp(4 * torch.randn(1, INPUTS, generator=draw))


@pytest.mark.parametrize("num_rows", [1, 3, 500])
def test_three_parts_are_the_number_to_the_last_bit(num_rows: int) -> None:
    x, parts = rows(num_rows), torch.empty(3, num_rows, INPUTS, dtype=torch.bfloat16)
    split(x, parts, Scratch())
    assert torch.equal(parts.double().sum(0), x.double())
    assert not torch.equal(parts[:2].double().sum(0), x.double())  # two would not do


@pytest.mark.parametrize("num_rows", [1, 2, STACKED_ROWS, STACKED_ROWS + 1, 1024, 2100])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products_are_as_exact_as_those_in_float32(
    gemm: Gemm, weight: torch.Tensor, num_rows: int, has_bias: bool
) -> None:
    x, draw = rows(num_rows), torch.Generator().manual_seed(0)
    bias = torch.randn(OUTPUTS, generator=draw) if has_bias else None
    plain, product = Linear(weight.float(), bias), Bf16x3Linear(Linear(weight, bias), gemm, Scratch())
    want = x.double() @ weight.double().t() + (0 if bias is None else bias.double())
    size = want.square().mean().sqrt()
    error = float((product.project(x, torch.empty(num_rows, OUTPUTS)) - want).abs().max() / size)
    assert error <= 2 * float((plain.project(x, torch.empty(num_rows, OUTPUTS)) - want).abs().max() / size) + 1e-6
    before = rows(num_rows)[:, :OUTPUTS].contiguous()
    added = product.project_add(x, before.clone())
    torch.testing.assert_close(added.double(), before.double() + want, atol=1e-5 * float(size), rtol=1e-6)


@pytest.mark.parametrize("num_rows", [5, 300])
def test_rows_may_lie_apart(gemm: Gemm, weight: torch.Tensor, num_rows: int) -> None:
    """The gate is half of what one product gave, and queries go to a slice of a larger matrix."""
    x, product = rows(num_rows), Bf16x3Linear(Linear(weight), gemm, Scratch())
    inside, into = torch.cat([x, x], dim=1)[:, :INPUTS], torch.full((num_rows, 2 * OUTPUTS), 7.0)
    want = product.project(x, torch.empty(num_rows, OUTPUTS))
    assert torch.equal(product.project(inside, into[:, :OUTPUTS]), want)
    assert bool((into[:, OUTPUTS:] == 7).all())


def test_what_memory_held_before_does_not_matter(gemm: Gemm, weight: torch.Tensor) -> None:
    scratch = Scratch()
    for take in (scratch.parts, scratch.floats):
        take(3, 300, INPUTS).fill_(float("nan"))
    for num_rows in (4, 300):
        out = torch.full((num_rows, OUTPUTS), float("nan"))
        assert bool(Bf16x3Linear(Linear(weight), gemm, scratch).project(rows(num_rows), out).isfinite().all())


def test_a_number_that_is_none_stays_none(gemm: Gemm, weight: torch.Tensor) -> None:
    x = rows(3)
    x[1, 7] = float("nan")
    out = Bf16x3Linear(Linear(weight), gemm, Scratch()).project(x, torch.empty(3, OUTPUTS))
    assert out.isnan().any(1).tolist() == [False, True, False]


def test_a_matrix_with_one_other_number_stays_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bf16x3_linear, "LEAST_NUMBERS", 1)
    exact, other, bias = torch.nn.Linear(8, 4), torch.nn.Linear(8, 4), torch.randn(4)
    for layer in (exact, other):
        layer.weight.data = layer.weight.data.bfloat16().float()
        layer.bias.data = bias
    other.weight.data[3, 7] = 1 + 2**-10
    assert keep_bfloat16(torch.nn.ModuleList([exact, other])) == 0.5
    assert (exact.weight.dtype, other.weight.dtype) == (torch.bfloat16, torch.float32)
    assert exact.bias.dtype == torch.float32
    assert is_bfloat16(exact.weight.float())
    assert not is_bfloat16(other.weight)


@pytest.fixture
def stored_in_bfloat16() -> Qwen3VLModel:
    """The built-in model, loaded anew for each test: its matrices are given back."""
    return load_stock(Qwen3VLModel, BUILTIN, torch.device("cpu"), torch.float32)


@pytest.mark.parametrize("with_decoder", [True, False])
def test_a_model_gives_the_vectors_and_features_it_gave(
    gemm: Gemm, stored_in_bfloat16: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch, with_decoder: bool
) -> None:
    monkeypatch.setattr(bf16x3_linear, "LEAST_NUMBERS", 1)
    monkeypatch.setattr("service.engine.startup.weight_formats.gemm_of_parts", lambda device, dtype: gemm)
    backbone = Qwen3VL(stored_in_bfloat16)
    model = pooled_model(backbone)
    pixels = torch.randint(0, 256, (64, 128, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    answers, features, language = known_answers(model), backbone.encode(pixels), backbone.language
    use_bfloat16(model, with_decoder=with_decoder)
    assert (backbone.language is language) is not with_decoder
    assert stored_in_bfloat16.visual.blocks[0].attn.qkv.weight.dtype == torch.bfloat16
    check_forward(model, answers)
    torch.testing.assert_close(backbone.encode(pixels), features, atol=1e-5, rtol=0)
    assert backbone.dtype == backbone.encode(pixels).dtype == torch.float32


def test_a_lost_part_is_found_by_the_check(stored_in_bfloat16: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that nobody multiplies rightly end the start."""
    monkeypatch.setattr(bf16x3_linear, "LEAST_NUMBERS", 1)
    monkeypatch.setattr(
        "service.engine.startup.weight_formats.gemm_of_parts",
        lambda device, dtype: lambda a, w, out, beta: out.fill_(0.5),
    )
    backbone = Qwen3VL(stored_in_bfloat16)
    model = pooled_model(backbone)
    answers = known_answers(model)
    use_bfloat16(model, with_decoder=True)
    with pytest.raises(ModelError, match="known-answer"):
        check_forward(model, answers)


def test_where_the_product_is_missing_or_wrong_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not bf16_gemm._is_right(lambda a, weight, out, beta: None)
    assert not bf16_gemm._is_right(lambda a, weight, out, beta: by_torch(a, weight, out, 0.0))
    assert bf16_gemm._is_right(by_torch)
    with_tiles, without = tmp_path / "with", tmp_path / "without"
    with_tiles.write_text("flags\t\t: fpu avx512_bf16 amx_bf16\nbugs\t\t:\n")
    without.write_text("flags\t\t: fpu avx512_bf16\n")
    for cpuinfo, library in ((without, bf16_gemm._LIBRARY), (with_tiles, tmp_path / "none.so")):
        monkeypatch.setattr(cpu_backend, "CPUINFO", cpuinfo)
        monkeypatch.setattr(bf16_gemm, "_LIBRARY", library)
        find_gemm.cache_clear()
        assert gemm_of_parts(torch.device("cpu"), torch.float32) is None
    find_gemm.cache_clear()
