"""The forward of BERT's architecture over packed prompts, with few calls: four products a layer, and what fits in them.

In: token ids and positions of prompts, equal lengths together. Out: hidden states. Queries, keys and values are one
product, the feed-forward's GELU and both residuals are computed inside products. Every row that is made is read again
while it lies in the processor's cache: the caller gives it a few prompts at a time.

Source: Devlin et al. 2018 (arXiv 1810.04805); transformers `BertLayer`.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch.nn import functional

from service.model.encoder.stock_weights import StockLayer, StockWeights
from service.model.linear.linear import Linear, fuse
from service.model.linear.prepacked_linear import PrepackedLinear
from service.model.packed.attention import AttentionWindow, attend
from service.model.packed.segments import Group

ALL_TOKENS = AttentionWindow(is_causal=False)


class Encoder:
    """An encoder on weights of its own; the stock module gives its matrices up and cannot be run any more."""

    def __init__(self, weights: StockWeights) -> None:
        self._words = weights.words.detach()
        self._positions = weights.positions.detach()
        self._norm = weights.norm
        self._layers = [EncoderLayer(layer, weights.num_heads) for layer in weights.layers]

    def forward(self, token_ids: torch.Tensor, positions: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        """Hidden states of all tokens, `[num_tokens, width]`, float32.

        Args:
            token_ids: `[num_tokens]`, int64.
            positions: `[num_tokens]`, int64, rows of the table of positions: a token's type · positions + its position.
            groups: how the prompts lie; tokens behind the last one are filling.
        """
        embedded = functional.embedding(token_ids, self._words) + functional.embedding(positions, self._positions)
        states: torch.Tensor = self._norm(embedded)
        for layer in self._layers:
            states = layer.run(states, groups)
        return states


class EncoderLayer:
    """``x = norm(x + out(attention(x))); x = norm(x + narrow(gelu(widen(x))))``."""

    def __init__(self, stock: StockLayer, num_heads: int) -> None:
        """Pack the layer's matrices, and free the stock ones."""
        self._num_heads = num_heads
        self._query_key_value = PrepackedLinear(fuse(stock.query_key_value))
        self._out, self._widen, self._narrow = (
            PrepackedLinear(Linear(linear.weight, linear.bias)) for linear in (stock.out, stock.widen, stock.narrow)
        )
        self._attention_norm, self._output_norm = stock.attention_norm, stock.output_norm
        for linear in (*stock.query_key_value, stock.out, stock.widen, stock.narrow):
            linear.weight = torch.nn.Parameter(linear.weight.new_empty(0), requires_grad=False)

    def run(self, states: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        """`[num_tokens, width]` to new memory of the same shape."""
        heads = self._query_key_value.project(states).view(len(states), 3, self._num_heads, -1)
        query, key, value = heads.unbind(1)
        mixed = attend(
            query, key, value, groups, query.shape[-1] ** -0.5, query.new_empty(query.shape), ALL_TOKENS
        ).flatten(1)
        states = self._attention_norm(self._out.project_add(mixed, states))
        wide = self._widen.project_gelu(states)
        return cast(torch.Tensor, self._output_norm(self._narrow.project_add(wide, states)))
