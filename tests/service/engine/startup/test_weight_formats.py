"""`--weights int8`: near enough to float32 on a trained model, refused where it is not, items apart."""

import pytest
import torch
from torch.nn.functional import cosine_similarity
from transformers import Qwen3VLModel

from service.checkpoint.hub import CHECKPOINT
from service.engine.startup import weight_formats
from service.engine.startup.self_check import check_forward, known_answers
from service.engine.startup.weight_formats import NUM_PROMPTS, check_int8, known_prompts, prepack, use_int8
from service.errors import ModelError
from service.model.architectures import pooled_model
from service.model.linear.cpu_backend import packed_products
from service.model.linear.int8_linear import GREATEST_IN_16_BITS, Int8Linear, exact_row_integer
from service.model.linear.linear import Linear
from service.model.linear.products import torchs
from service.model.load import load_stock
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.language import LanguageModel
from service.model.qwen3_vl.qwen3_vl import Qwen3VL

CPU = torch.device("cpu")


@pytest.fixture
def model() -> Qwen3VLModel:
    return load_stock(Qwen3VLModel, CHECKPOINT, CPU, torch.float32)


def in_int8(stock: Qwen3VLModel) -> LanguageModel:
    backbone = Qwen3VL(stock)
    use_int8(pooled_model(backbone))
    return backbone.language


def test_the_built_in_model_bears_int8_and_gives_the_float32_matrices_back(model: Qwen3VLModel) -> None:
    batch = known_prompts(501, NUM_PROMPTS)
    want = LanguageModel(model).forward(batch, last_only=True)
    ours = in_int8(model).forward(batch, last_only=True)
    least = cosine_similarity(ours, want, dim=-1).min()
    assert 0.99 < least < 0.99999, "near, and not the same"
    layers = model.language_model.layers
    assert not sum(module.weight.numel() for module in layers.modules() if isinstance(module, torch.nn.Linear))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_prepacked_model_passes_the_check_without_its_stock_decoder(dtype: torch.dtype) -> None:
    if packed_products(CPU, dtype) is None:
        pytest.skip("not used on this processor")
    backbone = Qwen3VL(load_stock(Qwen3VLModel, CHECKPOINT, CPU, dtype))
    model = pooled_model(backbone)
    answers, language = known_answers(model), backbone.language
    prepack(model, with_decoder=False)
    assert backbone.language is language
    prepack(model, with_decoder=True)
    assert backbone.language is not language
    layers = backbone.stock.language_model.layers
    assert not sum(module.weight.numel() for module in layers.modules() if isinstance(module, torch.nn.Linear))
    check_forward(model, answers)


def test_a_start_ends_where_vectors_bend(model: Qwen3VLModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_formats, "LEAST_COSINE", 0.99999)
    with pytest.raises(ModelError, match=r"cosine 0\.99.* at least 0\.99999 is due"):
        in_int8(model)


def test_a_vector_that_is_no_number_does_not_pass(model: Qwen3VLModel) -> None:
    language, int8 = LanguageModel(model), LanguageModel(model, products=torchs(Int8Linear))
    int8.embed_tokens = torch.nn.Embedding.from_pretrained(torch.full((4096, 256), float("nan")))
    with pytest.raises(ModelError, match="nan"):
        check_int8(language, int8)


def test_other_number_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="bfloat16 on cpu"):
        in_int8(load_stock(Qwen3VLModel, CHECKPOINT, CPU, torch.bfloat16))


def test_an_item_does_not_depend_on_its_batch(model: Qwen3VLModel) -> None:
    int8, batch = in_int8(model), known_prompts(501, NUM_PROMPTS)
    whole = int8.forward(batch, last_only=True)
    first = batch.segment_lengths[0]
    alone = PackedBatch(batch.token_ids[:first], batch.position_ids[:, :first], [first])
    torch.testing.assert_close(int8.forward(alone, last_only=True)[0], whole[0], atol=2e-2, rtol=0)
    int8.embed_tokens.weight.data[batch.token_ids[-1]] = float("inf")
    spoiled = int8.forward(batch, last_only=True)
    assert not spoiled[-1].isfinite().all()
    assert spoiled[0].isfinite().all()


@pytest.mark.parametrize("greatest", sorted({exact_row_integer(), GREATEST_IN_16_BITS}))
def test_a_product_is_that_of_its_rounded_numbers(greatest: int) -> None:
    draw = torch.Generator().manual_seed(0)
    weight, x = torch.randn(40, 24, generator=draw), torch.randn(9, 24, generator=draw)
    x[4], x[5] = 0, 1000 * x[5]
    steps = weight.abs().amax(1, keepdim=True) / 127
    row_steps = x.abs().amax(1, keepdim=True).clamp_min(1e-30) / greatest
    rounded_x, rounded_weight = (x / row_steps).round(), (weight / steps).round()
    want = ((rounded_x.double() * row_steps) @ (rounded_weight.double() * steps).T).float()
    product = Int8Linear(Linear(weight), greatest)
    torch.testing.assert_close(product.project(x, torch.empty(9, 40)), want, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(product.project_add(x, torch.ones(9, 40)), want + 1, atol=1e-4, rtol=1e-4)


def test_products_of_the_greatest_numbers_are_exact() -> None:
    x, weight = torch.full((4, 64), 3.0), torch.full((64, 64), 0.5)
    want = torch.full((4, 64), 64 * 3.0 * 0.5)
    torch.testing.assert_close(Int8Linear(Linear(weight)).project(x, torch.empty(4, 64)), want)
