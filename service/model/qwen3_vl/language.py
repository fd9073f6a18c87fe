"""The language half: a packed batch of tokens and image features to post-norm hidden states.

It has no mask, no cache, no padding and no language-model head, and computes only the rows that pooling reads.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch.nn import functional
from transformers import Qwen3Model, Qwen3VLModel

from cenote_kernels import scatter
from cenote_kernels.cpu.rows import rms_norm
from service.model.backbone import Needs
from service.model.linear.linear import give_back
from service.model.linear.products import TORCHS, PackedProducts, Products
from service.model.packed.attention import attend, attend_last
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.prefix_cache import NO_USE, LayerPrefixes, PrefixCache, without
from service.model.packed.segments import Group, SharedPrefix, plan_segments
from service.model.qwen3_vl.decoder_layer import Angles, DecoderLayer, StockLayer
from service.model.states import States


@dataclass(frozen=True, slots=True)
class Placement:
    """Between rows, where a shared token is computed once, and places, where prompts stand whole or after a beginning.

    Attributes:
        groups: prompts of one length, in attention's order.
        beginnings: of prompts whose rests are in groups.
        row_of_place: `[num_places]`, on the device; None where rows and places are the same.
        place_of_row: `[num_rows]`, the place whose result each row takes; None likewise. Filling takes any.
    """

    groups: tuple[Group, ...]
    beginnings: tuple[SharedPrefix, ...]
    row_of_place: torch.Tensor | None
    place_of_row: torch.Tensor | None


class LanguageModel:
    """Our forward on the weights of the stock module's layers.

    Attributes:
        may_share: compute a beginning that prompts of a batch have in common once.
        layers: run in order.
        prefixes: beginnings that are kept from forward to forward; None keeps none.
    """

    def __init__(
        self, model: Qwen3VLModel | Qwen3Model, *, may_share: bool = True, products: Products = TORCHS
    ) -> None:
        """Run the decoder of `model`; a text model is one itself, whose layers are the same but for its positions."""
        stock: Any = getattr(model, "language_model", model)
        layers, last = cast(list[StockLayer], list(stock.layers)), len(stock.layers) - 1
        self.may_share = may_share
        self.prefixes: PrefixCache | None = None
        self.embed_tokens = stock.embed_tokens
        self.device = self.embed_tokens.weight.device
        self.hidden_size = self.embed_tokens.embedding_dim
        self._packed = products if isinstance(products, PackedProducts) else None
        self._dtype = self.embed_tokens.weight.dtype
        made: list[DecoderLayer] = []
        for index, layer in enumerate(layers):
            made.append(DecoderLayer(layer, products, index == last))
            if self._packed is not None:
                give_back(layer)
        self.layers: Sequence[DecoderLayer] = made
        self._norm = (stock.norm.weight.detach().float(), stock.norm.variance_epsilon)
        self._rotary = stock.rotary_emb

    def in_bfloat16(self, layers: Sequence[DecoderLayer], products: PackedProducts) -> "LanguageModel":
        """The same decoder with others of bfloat16 and these products in the place of its layers."""
        other = copy(self)
        other.layers, other._dtype, other._packed = layers, torch.bfloat16, products
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
        use = self.prefixes.look(batch) if self.prefixes is not None and last_only else NO_USE
        if use.found is not None:
            batch = without(batch, use.found.num_tokens)
        visual, visual_index = batch.visual, batch.visual_index
        numbers = None if visual is None or visual.numbers is None else visual.numbers.numpy()
        segments = plan_segments(
            batch.token_ids.numpy(),
            batch.segment_lengths,
            visual_index,
            numbers,
            may_share=self.may_share,
            may_part=self.device.type == "cpu",
        )
        num_padding = self._num_padding(len(segments.tokens))
        tokens = torch.from_numpy(np.pad(segments.tokens, (0, num_padding)))
        states = self.embed_tokens(batch.token_ids[tokens].to(self.device)).to(self._dtype)
        visual_rows, levels = segments.row[visual_index], list[torch.Tensor]()
        if visual is not None:
            features = visual.features
            rows, first = np.unique(visual_rows, return_index=True)
            if len(rows) < len(visual_rows):  # DeepStack adds: a row that prompts share gets its features once
                visual_rows, features = rows, features[torch.as_tensor(first, device=self.device)]
            levels = list(torch.split(features, self.hidden_size, dim=-1))
        to_rows = torch.as_tensor(visual_rows, device=self.device)
        main, deepstack = levels[:1], levels[1:]
        for level in main:
            scatter(states, to_rows, level)
        unfold, fold = segments.unfold, segments.fold
        placement = Placement(
            segments.groups,
            segments.beginnings,
            None if unfold is None else torch.as_tensor(unfold, device=self.device),
            None if fold is None else torch.as_tensor(np.pad(fold, (0, num_padding)), device=self.device),
        )
        positions = batch.position_ids[:, tokens].to(self.device)
        counted = positions[1:].unsqueeze(1) if len(positions) > 1 else positions  # M-RoPE's three, or the only one
        angle_dtype = torch.float32 if self.device.type == "cpu" else self._dtype
        cos, sin = (  # the stock module holds each angle twice
            table[0, :, None, : table.shape[-1] // 2].to(angle_dtype).contiguous()
            for table in self._rotary(states, counted)
        )
        prefixes = LayerPrefixes(use, torch.as_tensor(segments.row[: use.num_to_keep], device=self.device))
        last = None
        if last_only:
            places = np.cumsum(batch.segment_lengths)[segments.order] - 1
            rows = np.pad(segments.row[places], (0, self._num_padding(len(places))))
            last = torch.as_tensor(rows, device=self.device)
        for index, layer in enumerate(self.layers):
            if last is not None and index == len(self.layers) - 1 and index >= len(deepstack):
                states, last = _run_last(layer, states, (cos, sin), placement, last, prefixes), None
                break
            _run(layer, states, (cos, sin), placement, prefixes)
            if index < len(deepstack):
                scatter(states, to_rows, deepstack[index], add=True)
        if self.prefixes is not None:
            prefixes.keep_in(self.prefixes)
        if last is not None:
            states = states[last]
        normed = rms_norm(states, *self._norm, torch.empty_like(states))
        order = np.argsort(segments.order) if last_only else segments.row
        return normed[torch.as_tensor(order, device=self.device)]

    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """`forward` as heads read it."""
        if needs == "last":
            return States(self.forward(batch, last_only=True), [1] * len(batch.segment_lengths))
        return States(self.forward(batch), batch.segment_lengths)

    def _num_padding(self, num_rows: int) -> int:
        """Rows after these that nobody reads, so that there is code for their number."""
        return self._packed.pad_blocks(num_rows) - num_rows if self._packed is not None else 0


def _run(
    layer: DecoderLayer, states: torch.Tensor, angles: Angles, placement: Placement, prefixes: LayerPrefixes
) -> None:
    places = layer.project(layer.all_heads, states, angles)
    prefix = prefixes.next(places[:, layer.num_heads :])
    if placement.row_of_place is not None:
        places = places.index_select(0, placement.row_of_place)
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
    if placement.place_of_row is not None:
        mixed = mixed.index_select(0, placement.place_of_row)
    layer.finish(states, mixed)


def _run_last(
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
    prefix = prefixes.next(places)
    if placement.row_of_place is not None:
        places = places.index_select(0, placement.row_of_place)
    key, value = places.chunk(2, dim=1)
    mixed = attend_last(query, key, value, placement.groups, layer.scaling, prefix, placement.beginnings)
    layer.finish(few, functional.pad(mixed, (0, 0, 0, 0, 0, len(few) - len(mixed))))
    return few
