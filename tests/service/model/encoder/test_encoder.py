"""Our forward of BERT's architecture against the stock modules', on the same random weights."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    CamembertConfig,
    CamembertModel,
    DistilBertConfig,
    DistilBertModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from cenote_kernels.cpu.library import runs_on
from service.model.encoder.encoder import Encoder
from service.model.encoder.stock_weights import stock_weights
from service.model.linear.products import PackedProducts
from service.model.packed.segments import Group
from service.model.stock.text_encoder import one_thread

TOLERANCE = 1e-5
SIZES: dict[str, Any] = {
    "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 64,
}  # fmt: skip
MODULES: dict[str, Callable[[], PreTrainedModel]] = {
    "bert": lambda: BertModel(BertConfig(**SIZES)),
    "roberta": lambda: RobertaModel(RobertaConfig(**SIZES, type_vocab_size=1)),
    "xlm-roberta": lambda: XLMRobertaModel(XLMRobertaConfig(**SIZES, type_vocab_size=1)),
    "camembert": lambda: CamembertModel(CamembertConfig(**SIZES, type_vocab_size=1)),
    "distilbert": lambda: DistilBertModel(
        DistilBertConfig(vocab_size=50, dim=32, n_layers=3, n_heads=4, hidden_dim=48, max_position_embeddings=64)
    ),
}


def random_module(name: str) -> PreTrainedModel:
    return randomized(MODULES[name]())


def randomized(stock: PreTrainedModel) -> PreTrainedModel:
    """No weight is 0 or 1, so that none can be left out."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in stock.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2)
    return stock.requires_grad_(False).eval()


@pytest.mark.parametrize("name", sorted(MODULES))
@torch.inference_mode()
def test_states_are_the_stock_modules_and_weights_are_held_once(packed: PackedProducts, name: str) -> None:
    stock = random_module(name)
    groups = [Group(0, 0, 5, 1, 5, 5), Group(1, 5, 23, 2, 9, 9)]
    token_ids = torch.randint(0, 50, (23,))
    positions = torch.cat([torch.arange(5), torch.arange(9), torch.arange(9)]) + 2
    prompts = zip(torch.split(token_ids, [5, 9, 9]), torch.split(positions, [5, 9, 9]), strict=True)
    want = torch.cat([stock(input_ids=ids[None], position_ids=at[None]).last_hidden_state[0] for ids, at in prompts])
    weights = stock_weights(stock)
    assert weights is not None
    filling = torch.zeros(3, dtype=torch.int64)
    found = Encoder(weights, packed).forward(torch.cat([token_ids, filling]), torch.cat([positions, filling]), groups)
    assert (found[:23] - want).abs().max() <= TOLERANCE
    assert found.isfinite().all()
    matrices = [part for layer in weights.layers for part in (*layer.query_key_value, layer.out, layer.widen)]
    assert all(matrix.weight.numel() == 0 for matrix in matrices)


@pytest.mark.parametrize("num_padding", [0, 3])
@pytest.mark.parametrize("width", [32, 128])  # a processor with 512 bits has its one call for the second alone
@torch.inference_mode()
def test_a_lone_prompt_has_the_states_that_it_has_in_a_batch(
    packed: PackedProducts, width: int, num_padding: int
) -> None:
    weights = stock_weights(
        randomized(BertModel(BertConfig(**SIZES | {"hidden_size": width, "intermediate_size": width})))
    )
    assert weights is not None
    encoder = Encoder(weights, packed)
    assert width == 32 or encoder.is_one_call(9) is runs_on(torch.float32, torch.device("cpu"))
    ids, filling = torch.randint(0, 50, (9,)), torch.zeros(num_padding, dtype=torch.int64)
    twice = encoder.forward(ids.repeat(2), torch.arange(9).repeat(2), [Group(0, 0, 18, 2, 9, 9)])
    alone = encoder.forward(torch.cat([ids, filling]), torch.cat([torch.arange(9), filling]), [Group(0, 0, 9, 1, 9, 9)])
    assert len(alone) == 9 + num_padding * (not encoder.is_one_call(9))
    assert (alone[:9] - twice[9:]).abs().max() <= TOLERANCE


@pytest.mark.parametrize("change", [{"hidden_act": "relu"}, {"is_decoder": True}])
def test_a_module_with_other_options_has_no_forward_of_ours(change: dict[str, Any]) -> None:
    assert stock_weights(BertModel(BertConfig(**SIZES, **change))) is None


def test_a_derived_class_has_no_forward_of_ours() -> None:
    class Derived(BertModel):
        pass

    assert stock_weights(Derived(BertConfig(**SIZES))) is None


def test_the_number_of_threads_comes_back_whatever_happens() -> None:
    before, seen = torch.get_num_threads(), []

    def fail() -> None:
        with one_thread():
            seen.append(torch.get_num_threads())
            raise ValueError("inside")

    try:
        torch.set_num_threads(2)
        with pytest.raises(ValueError, match="inside"):
            fail()
        assert [*seen, torch.get_num_threads()] == [1, 2]
    finally:
        torch.set_num_threads(before)
