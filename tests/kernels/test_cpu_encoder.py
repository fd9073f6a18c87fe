"""All layers of an encoder in one call against transformers' `BertModel` in float64."""

import pytest
import torch
from transformers import BertConfig, BertModel

from cenote_kernels.cpu.encoder import MAX_TOKENS, ShortEncoder, packed
from cenote_kernels.cpu.library import columns
from service.model.encoder.encoder import _short_encoder
from service.model.encoder.stock_weights import stock_weights

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("instructions")
WIDTHS = [(32, 64, 1, 1), (96, 160, 2, 3), (384, 1536, 12, 2), (64, 32, 4, 12)]
"""Width, feed-forward's width, heads, layers."""


def stock(width: int, intermediate: int, num_heads: int, num_layers: int) -> BertModel:
    torch.manual_seed(width)
    config = BertConfig(
        vocab_size=100,
        hidden_size=width,
        intermediate_size=intermediate,
        num_attention_heads=num_heads,
        num_hidden_layers=num_layers,
        attn_implementation="eager",
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def encoder_of(model: BertModel) -> ShortEncoder:
    weights = stock_weights(model)
    assert weights is not None
    ours = _short_encoder(weights)
    assert ours is not None
    return ours


@pytest.mark.parametrize("widths", WIDTHS)
@torch.inference_mode()
def test_every_length_has_the_stock_modules_states(widths: tuple[int, int, int, int]) -> None:
    ours, exact = encoder_of(stock(*widths)), stock(*widths).double()
    for num_tokens in (1, 2, 5, 13, 14, 15, 16, 17, 28, 29, 43, MAX_TOKENS):
        token_ids, places = torch.randint(0, 100, (num_tokens,)), torch.arange(num_tokens).flip(0).contiguous()
        for num_keys in {num_tokens, (num_tokens + 1) // 2}:
            mask = (torch.arange(num_tokens) < num_keys)[None].long()
            want = exact(token_ids[None], attention_mask=mask, position_ids=places[None]).last_hidden_state[0]
            for num_threads in (1, 2, 3):
                states = ours.forward(token_ids, places, num_keys, num_threads)
                assert (states.double() - want).abs().max() <= 2e-5, (num_tokens, num_keys, num_threads)


@torch.inference_mode()
def test_threads_change_no_bit_and_bad_weights_are_seen() -> None:
    model = stock(384, 1536, 12, 2)
    ours, token_ids, places = encoder_of(model), torch.arange(10), torch.arange(10)
    alone = ours.forward(token_ids, places, 10, 1)
    for _ in range(200):
        assert torch.equal(ours.forward(token_ids, places, 10, 2), alone)
    model.embeddings.word_embeddings.weight[7] = float("nan")
    assert ours.forward(token_ids[:7], places[:7], 7, 2).isfinite().all()
    assert ours.forward(token_ids, places, 10, 2).isnan().all()


@pytest.mark.parametrize(
    ("token_ids", "places", "num_keys"),
    [
        ([1, 100, 3], [0, 1, 2], 3),
        ([1, -1, 3], [0, 1, 2], 3),
        ([10**7], [0], 1),
        ([1], [1024], 1),
        ([1], [-1], 1),
        ([1, 2], [0, 1], 0),
        ([1, 2], [0, 1], 3),
        ([1] * 65, [0] * 65, 65),
    ],
)
def test_a_number_without_a_row_is_an_error_as_torchs_is(
    token_ids: list[int], places: list[int], num_keys: int
) -> None:
    with pytest.raises(IndexError, match="no row"):
        encoder_of(stock(*WIDTHS[0])).forward(torch.tensor(token_ids), torch.tensor(places), num_keys, 2)


def test_what_it_has_no_code_for_is_said_before() -> None:
    assert ShortEncoder.can_be_made(384, 1536, 12, CPU)
    assert not ShortEncoder.can_be_made(312, 1200, 12, CPU)
    assert not ShortEncoder.can_be_made(384, 1500, 12, CPU)
    assert not ShortEncoder.can_be_made(48, 160, 24, CPU)
    assert not ShortEncoder.can_be_made(384, 1536, 12, torch.device("meta"))


def test_a_packed_weight_has_a_block_of_outputs_side_by_side() -> None:
    block, weight = columns("block"), torch.arange(64 * 3.0).view(64, 3)
    assert torch.equal(packed(weight)[1, 2], weight[block : 2 * block, 2])
