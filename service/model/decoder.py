"""The decoder's own forward over a packed batch: no mask, no cache, no padding, and no row that nobody asked for.

In: input embeddings by row, positions, how prompts lie. Out: post-norm hidden states. Works on the stock module's
weights and knows no other model.
"""

from collections.abc import Sequence
from typing import cast

import torch
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextDecoderLayer, Qwen3VLTextModel

from cenote_kernels import scatter
from service.model.attention import attend, attend_last
from service.model.decoder_layer import Angles, DecoderLayer
from service.model.placement import Placement
from service.model.product import MakeProduct
from service.model.rms_norm import rms_norm


class Decoder:
    """The layers of a stock text model, run in our own way.

    Args:
        stock: whose weights they are.
        make: how matrix products are run.
    """

    def __init__(self, stock: Qwen3VLTextModel, make: MakeProduct) -> None:
        layers, last = cast(list[Qwen3VLTextDecoderLayer], list(stock.layers)), len(stock.layers) - 1
        self._layers = [DecoderLayer(layer, make, index == last) for index, layer in enumerate(layers)]
        self._norm = stock.norm
        self._rotary = stock.rotary_emb

    def forward(
        self,
        hidden: torch.Tensor,
        position_ids: torch.Tensor,
        placement: Placement,
        visual_rows: torch.Tensor,
        deepstack: Sequence[torch.Tensor],
        last: torch.Tensor | None,
    ) -> torch.Tensor:
        """Post-norm hidden states.

        Of the last layer, a prompt's last token needs the keys and values of all, but queries, projection,
        feed-forward and the final norm of itself only.

        Args:
            hidden: `[num_rows, hidden]` input embeddings, overwritten.
            position_ids: `[3, num_rows]`: temporal, height, width.
            placement: how prompts lie.
            visual_rows: `[visual_tokens]`, rows of the placeholders.
            deepstack: per level `[visual_tokens, hidden]`, added after decoder layer 0, 1, ...
            last: `[num_segments]`, the row of each prompt's last token, in attention's order; None wants all rows.

        Returns:
            `[num_rows, hidden]`, or `[num_segments, hidden]` in attention's order.

        Source: transformers `Qwen3VLTextModel.forward`; DeepStack, Meng et al. 2024 (arXiv 2406.04334).
        """
        angles = self._angles(hidden, position_ids)
        for index, layer in enumerate(self._layers):
            is_short = last is not None and index == len(self._layers) - 1 and index >= len(deepstack)
            if is_short and last is not None:
                hidden = _run_last(layer, hidden, angles, placement, last)
                last = None
                continue
            _run(layer, hidden, angles, placement)
            if index < len(deepstack):
                scatter(hidden, visual_rows, deepstack[index], add=True)
        if last is not None:
            hidden = hidden[last]
        return rms_norm(hidden, self._norm.weight, self._norm.variance_epsilon, torch.empty_like(hidden))

    def _angles(self, hidden: torch.Tensor, position_ids: torch.Tensor) -> Angles:
        """Cosine and sine of each row and frequency, once per batch; the stock module holds each twice."""
        cos, sin = self._rotary(hidden, position_ids.unsqueeze(1))
        half = cos.shape[-1] // 2
        return cos[0, :, None, :half].contiguous(), sin[0, :, None, :half].contiguous()


def _run(layer: DecoderLayer, hidden: torch.Tensor, angles: Angles, placement: Placement) -> None:
    places = placement.unfold(layer.project(hidden, angles))
    query, key, value = torch.split(places, [layer.num_heads, layer.num_kv_heads, layer.num_kv_heads], dim=1)
    mixed = attend(query, key, value, placement.groups, layer.scaling, query.new_empty(query.shape))
    layer.finish(hidden, placement.fold(mixed))


def _run_last(
    layer: DecoderLayer, hidden: torch.Tensor, angles: Angles, placement: Placement, last: torch.Tensor
) -> torch.Tensor:
    query, both = layer.project_last(hidden, angles, last)
    key, value = placement.unfold(both).chunk(2, dim=1)
    few = hidden[last]
    layer.finish(few, attend_last(query, key, value, placement.groups, layer.scaling))
    return few
