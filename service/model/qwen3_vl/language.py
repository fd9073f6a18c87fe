"""The language half: a packed batch of tokens and image features to post-norm hidden states.

It has no mask, no cache, no padding and no language-model head, and computes only the rows that pooling reads.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch.nn import functional
from transformers.modeling_utils import PreTrainedModel

from cenote_kernels import kernels_run_on, rms_norm, scatter
from cenote_kernels.cpu.attention import NO_KEYS_VALUES
from service.model.linear.linear import give_back
from service.model.linear.products import TORCHS, PackedProducts, Products
from service.model.packed.attention import attend, attend_last
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.prefix_cache import NO_PREFIXES, NO_USE, LayerPrefixes, PrefixCache, without
from service.model.packed.segments import Group, SharedPrefix, plan_segments
from service.model.packed.varlen_attention import SegmentBounds
from service.model.qwen3_vl.decoder_layer import Angles, DecoderLayer

if TYPE_CHECKING:
    from service.model.qwen3_vl.decoder_layer import StockLayer


@dataclass(frozen=True, slots=True)
class Placement:
    """Between rows and places; see `Segments`.

    Attributes:
        groups: prompts of one length, in attention's order; or bounds of prompts in the batch's order.
        beginnings: of prompts whose rests are in groups.
        spread: `Spread` on the device, `row_of_place` and `place_of_row`; None where they are the same. Filling takes
            any place.
    """

    groups: tuple[Group, ...] | SegmentBounds
    beginnings: tuple[SharedPrefix, ...]
    spread: tuple[torch.Tensor, torch.Tensor] | None


class LanguageModel:
    """Our forward on the weights of the stock module's layers.

    Attributes:
        may_share: compute a beginning that prompts of a batch have in common once.
        prefixes: beginnings that are kept from forward to forward.
    """

    def __init__(self, model: PreTrainedModel, *, may_share: bool = True, products: Products = TORCHS) -> None:
        """Run the decoder of `model`; a text model is one itself, whose layers are the same but for its positions."""
        stock: Any = getattr(model, "language_model", model)
        layers, last = cast("list[StockLayer]", list(stock.layers)), len(stock.layers) - 1
        self.may_share = may_share
        self.prefixes = PrefixCache(0)
        self.embed_tokens = stock.embed_tokens
        self.device = self.embed_tokens.weight.device
        self.hidden_size = self.embed_tokens.embedding_dim
        self._products = products
        self._dtype = self.embed_tokens.weight.dtype
        made: list[DecoderLayer] = []
        for index, layer in enumerate(layers):
            made.append(DecoderLayer(layer, products, index == last))
            if isinstance(products, PackedProducts):
                give_back(layer)
        self.layers: Sequence[DecoderLayer] = made
        self.norm = (stock.norm.weight.detach().float(), stock.norm.variance_epsilon)
        self.rotary = stock.rotary_emb

    def in_bfloat16(self, layers: Sequence[DecoderLayer], products: PackedProducts) -> "LanguageModel":
        """The same decoder with others of bfloat16 and these products in the place of its layers."""
        other = copy(self)
        other.layers, other._dtype, other._products = layers, torch.bfloat16, products
        return other

    @torch.inference_mode()
    def forward(self, batch: PackedBatch, *, last_only: bool = False) -> torch.Tensor:
        """Post-norm hidden states in the model's dtype and the order of the batch.

        Image features replace the placeholders' embeddings; deepstack level i is added to the residual stream at
        the same rows after decoder layer i.

        Args:
            last_only: only the last token of each prompt is wanted.

        Returns:
            `[total_tokens, hidden_size]`, or `[num_requests, hidden_size]` with `last_only`.

        Source: transformers 5.23 `Qwen3VLModel.forward` and `Qwen3VLTextModel.forward`; DeepStack, Meng et al. 2024
        (arXiv 2406.04334).
        """
        use = self.prefixes.look(batch) if self.prefixes.max_bytes and last_only else NO_USE
        if use.found.num_tokens:
            batch = without(batch, use.found.num_tokens)
        visual, fill = batch.visual, self._products.pad_blocks
        visual_index = visual.index.numpy()
        segments = plan_segments(
            batch.token_ids.numpy(),
            batch.segment_lengths,
            visual_index,
            visual.numbers.numpy(),
            may_share=self.may_share,
            may_part=self.device.type == "cpu",
        )
        num_rows = len(segments.tokens)
        num_padding = fill(num_rows) - num_rows  # nobody reads those, there is code for so many
        tokens = torch.from_numpy(np.pad(segments.tokens, (0, num_padding)))
        states = self.embed_tokens(batch.token_ids[tokens].to(self.device)).to(self._dtype)
        visual_rows, levels = segments.row[visual_index], list[torch.Tensor]()
        if len(visual_index):
            features = visual.features
            rows, first = np.unique(visual_rows, return_index=True)
            if len(rows) < len(visual_rows):  # DeepStack adds: a row that prompts share gets its features once
                visual_rows, features = rows, features[torch.as_tensor(first, device=self.device)]
            levels = list(torch.split(features, self.hidden_size, dim=-1))
        to_rows = torch.as_tensor(visual_rows, device=self.device)
        main, deepstack = levels[:1], levels[1:]
        for level in main:
            scatter(states, to_rows, level)
        spread = None
        if (found := segments.spread) is not None:
            both = found.row_of_place, np.pad(found.place_of_row, (0, num_padding))
            spread = torch.as_tensor(both[0], device=self.device), torch.as_tensor(both[1], device=self.device)
        placement = Placement(segments.groups, segments.beginnings, spread)
        positions = batch.position_ids[:, tokens].to(self.device)
        counted = positions[1:].unsqueeze(1) if len(positions) > 1 else positions  # M-RoPE's three, or the only one
        is_float32 = self.device.type == "cpu" or kernels_run_on(self.device)
        kind = states.new_empty(0, dtype=torch.float32) if is_float32 else states  # it is asked for its dtype alone
        cos, sin = (  # the stock module holds each angle twice
            table[0, :, None, : table.shape[-1] // 2].contiguous() for table in self.rotary(kind, counted)
        )
        prefixes = NO_PREFIXES
        if use is not NO_USE:
            prefixes = LayerPrefixes(use, torch.as_tensor(segments.row[: use.num_to_keep], device=self.device))
        last = None
        if last_only:
            places = np.cumsum(batch.segment_lengths)[segments.order] - 1
            rows = np.pad(segments.row[places], (0, fill(len(places)) - len(places)))
            last = torch.as_tensor(rows, device=self.device)
        for index, layer in enumerate(self.layers):
            if last is not None and index == len(self.layers) - 1 and index >= len(deepstack):
                states, last = run_last_layer(layer, states, (cos, sin), placement, last, prefixes), None
                break
            run_layer(layer, states, (cos, sin), placement, prefixes)
            if index < len(deepstack):
                scatter(states, to_rows, deepstack[index], add=True)
        if prefixes is not NO_PREFIXES:
            prefixes.keep_in(self.prefixes)
        if last is not None:
            states = states[last]
        normed = rms_norm(states, *self.norm, torch.empty_like(states))
        order = np.argsort(segments.order) if last_only else segments.row
        return normed[torch.as_tensor(order, device=self.device)]


def run_layer(
    layer: DecoderLayer, states: torch.Tensor, angles: Angles, placement: Placement, prefixes: LayerPrefixes
) -> None:
    """One layer for all rows, in place."""
    places = layer.project(layer.all_heads, states, angles)
    prefix = NO_KEYS_VALUES if prefixes is NO_PREFIXES else prefixes.next(places[:, layer.num_heads :])
    if placement.spread is not None:
        places = places.index_select(0, placement.spread[0])
    query, key, value = torch.split(places, [layer.num_heads, layer.num_kv_heads, layer.num_kv_heads], dim=1)
    mixed = attend(
        query,
        key,
        value,
        placement.groups,
        layer.scaling,
        query.new_empty(query.shape),
        prefix=prefix,
        beginnings=placement.beginnings,
    )
    if placement.spread is not None:
        mixed = mixed.index_select(0, placement.spread[1])
    layer.finish(states, mixed)


def run_last_layer(
    layer: DecoderLayer,
    states: torch.Tensor,
    angles: Angles,
    placement: Placement,
    last: torch.Tensor,
    prefixes: LayerPrefixes,
) -> torch.Tensor:
    """The last layer for the rows `last`, `[len(last), hidden_size]`: one for each prompt, then padding.

    A prompt's last token needs the keys and values of all tokens, but queries, projection and feed-forward of itself.
    """
    few = states[last]
    query = layer.project(layer.query_heads, few, (angles[0][last], angles[1][last]))
    places = layer.project(layer.key_value_heads, states, angles)
    prefix = NO_KEYS_VALUES if prefixes is NO_PREFIXES else prefixes.next(places)
    if placement.spread is not None:
        places = places.index_select(0, placement.spread[0])
    key, value = places.chunk(2, dim=1)
    mixed = attend_last(query, key, value, placement.groups, layer.scaling, prefix, placement.beginnings)
    layer.finish(few, functional.pad(mixed, (0, 0, 0, 0, 0, len(few) - len(mixed))))
    return few
