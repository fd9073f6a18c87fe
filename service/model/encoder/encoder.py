"""The forward of BERT's architecture over packed prompts, with few calls: four products a layer, and what fits in them.

In: token ids and positions of prompts, equal lengths together. Out: hidden states. Queries, keys and values are one
product, the feed-forward's GELU and both residuals are computed inside products. Every row that is made is read again
while it lies in the processor's cache: the caller gives it a few prompts at a time. A lone short prompt of a small
encoder goes through all layers in one call, where there is a kernel for that.

Source: Devlin et al. 2018 (arXiv 1810.04805); transformers `BertLayer`.
"""

from collections.abc import Sequence

import torch
from torch.nn import functional

from cenote_kernels.cpu.encoder import MAX_TOKENS, LayerWeights, NormWeights, ProductWeights, ShortEncoder
from service.model.adapted import adapted_layer
from service.model.encoder.stock_weights import StockLayer, StockWeights
from service.model.linear.linear import Linear, fuse
from service.model.linear.products import PackedProducts
from service.model.packed.attention import AttentionWindow, attend, attend_whole
from service.model.packed.segments import Group

ALL_TOKENS = AttentionWindow(is_causal=False)
SHORT_NUMBERS = 1 << 25
"""Numbers of the matrices up to which they are held a second time, 128 MiB of them, for lone short prompts: of a larger
encoder more time goes by reading them than by calls."""
SHORT_THREADS = 2
"""Threads that share a lone short prompt: each keeps a core (`keep_cores`). More have not been measured."""


class Encoder:
    """An encoder on weights of its own; the stock module gives its matrices up and cannot be run any more.

    Attributes:
        num_in_products: numbers of all matrices that rows are multiplied by.
    """

    def __init__(self, weights: StockWeights, products: PackedProducts) -> None:
        self._words = weights.words.detach()
        self._positions = weights.positions.detach()
        self._norm = Norm(weights.norm)
        self.num_in_products = sum(one.weight.numel() for layer in weights.layers for one in layer.products)
        is_adapted = any(adapted_layer(one) for layer in weights.layers for one in layer.products)
        is_small = self.num_in_products <= SHORT_NUMBERS
        self._short = _short_encoder(weights) if is_small and not is_adapted else None
        self._layers = [EncoderLayer(layer, weights.num_heads, products) for layer in weights.layers]

    def forward(self, token_ids: torch.Tensor, positions: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        """Hidden states, `[num_tokens, width]`, float32; of a lone short prompt without its padding.

        Args:
            token_ids: `[num_tokens]`, int64.
            positions: `[num_tokens]`, int64, rows of the table of positions: a token's type · positions + its position.
            groups: how the prompts lie; tokens after the last one are padding.
        """
        num_tokens = groups[0].num_tokens
        if self._short is not None and _is_alone(groups) and self.is_one_call(num_tokens):
            num_threads = min(SHORT_THREADS, torch.get_num_threads())
            return self._short.forward(token_ids[:num_tokens], positions[:num_tokens], groups[0].num_keys, num_threads)
        words, places = torch.embedding(self._words, token_ids), torch.embedding(self._positions, positions)
        states = self._norm.of(words.add_(places))
        for layer in self._layers:
            states = layer.run(states, groups)
        return states

    def is_one_call(self, num_tokens: int) -> bool:
        """True if a lone prompt of so many tokens goes through all layers in one call, by few threads."""
        return self._short is not None and num_tokens <= MAX_TOKENS


def _short_encoder(weights: StockWeights) -> ShortEncoder | None:
    """The same layers for lone short prompts; None where there is no kernel for their widths."""
    width, intermediate = weights.words.shape[1], weights.layers[0].widen.out_features
    if not ShortEncoder.can_be_made(width, intermediate, weights.num_heads, weights.words.device):
        return None
    layers = [
        LayerWeights(
            _product(fuse(layer.query_key_value)),
            _product(layer.out),
            _norm(layer.attention_norm),
            _product(layer.widen),
            _product(layer.narrow),
            _norm(layer.output_norm),
        )
        for layer in weights.layers
    ]
    return ShortEncoder(weights.words, weights.positions, _norm(weights.norm), layers, weights.num_heads)


def _product(linear: Linear | torch.nn.Linear) -> ProductWeights:
    assert linear.bias is not None  # every projection of this architecture has one
    return ProductWeights(linear.weight, linear.bias)


def _norm(stock: torch.nn.LayerNorm) -> NormWeights:
    return NormWeights(stock.weight, stock.bias, stock.eps)


def _is_alone(groups: Sequence[Group]) -> bool:
    return len(groups) == 1 and groups[0].num_segments == 1


class EncoderLayer:
    """``x = norm(x + out(attention(x))); x = norm(x + narrow(gelu(widen(x))))``."""

    def __init__(self, stock: StockLayer, num_heads: int, products: PackedProducts) -> None:
        """Pack the layer's matrices, and free the stock ones."""
        self._num_heads = num_heads
        self._query_key_value = products.make(fuse(stock.query_key_value))
        self._out, self._widen, self._narrow = (
            products.make(Linear(linear.weight, linear.bias)) for linear in (stock.out, stock.widen, stock.narrow)
        )
        self._attention_norm, self._output_norm = Norm(stock.attention_norm), Norm(stock.output_norm)
        for linear in stock.products:
            linear.weight = torch.nn.Parameter(linear.weight.new_empty(0), requires_grad=False)

    def run(self, states: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        """`[num_tokens, width]` to new memory of the same shape."""
        heads = self._query_key_value.project_new(states).view(len(states), 3 * self._num_heads, -1)
        mixed = _attend_alone(heads, groups[0]) if _is_alone(groups) else _attend(heads, groups)
        states = self._attention_norm.of(self._out.project_add(mixed, states))
        wide = self._widen.project_gelu(states)
        return self._output_norm.of(self._narrow.project_add(wide, states))


class Norm:
    """A stock layer norm's function called directly: the module around it costs a short query as much again."""

    def __init__(self, stock: torch.nn.LayerNorm) -> None:
        self._options = (stock.normalized_shape, stock.weight.detach(), stock.bias.detach(), stock.eps)

    def of(self, states: torch.Tensor) -> torch.Tensor:
        """`[num_tokens, width]` to new memory of the same shape."""
        return torch.layer_norm(states, *self._options)


def _attend(heads: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
    """Mixtures, `[num_tokens, width]`, of queries, keys and values, `[num_tokens, 3 · heads, head_dim]`."""
    query, key, value = heads.chunk(3, dim=1)
    mixed = query.new_empty(query.shape)
    return attend(query, key, value, groups, query.shape[-1] ** -0.5, mixed, ALL_TOKENS).flatten(1)


def _attend_alone(heads: torch.Tensor, group: Group) -> torch.Tensor:
    """The same for one prompt, in fewer calls: a short query's time goes by their number."""
    num_tokens = group.num_tokens
    query, key, value = heads[:num_tokens].chunk(3, dim=1)
    if group.num_keys < num_tokens:
        key, value = key[: group.num_keys], value[: group.num_keys]
    mixed = attend_whole(query, key, value).flatten(1)
    num_padding = len(heads) - num_tokens
    return functional.pad(mixed, (0, 0, 0, num_padding)) if num_padding else mixed
