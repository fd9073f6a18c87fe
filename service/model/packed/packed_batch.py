"""The batch that a model embeds: requests one behind the other, without padding. Knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """On the host, but for the features: what is computed where is decided there.

    Attributes:
        token_ids: `[total_tokens]`, int64.
        position_ids: `[rows, total_tokens]`, int64, as the model's `positions` gave them; each restarts per request.
        segment_lengths: tokens of each request.
        visual_index: `[visual_tokens]`, int64, ascending: where the placeholders are, in packed order.
        features: `[visual_tokens, feature_width]` on the device, or None when no request has an image.
        tenants: whose each request is; empty where nothing of the batch may be kept.
        visual_numbers: `[visual_tokens]`, int64, from 0: equal where two are the same token of the same image. None: no
            two are, as far as is known.
        num_hidden: of each request, how many tokens at its end no token attends to; empty where there are none.
        looked_up: of each request, whether its tokens' own weights are its vector; empty where none are.
        wants_tokens: of each request, whether its tokens' vectors or weights are wanted; empty where none are.
        spans: of each request, the places of tokens that have a vector together, ascending; empty where all have one.
            Empty where they do in all requests.
    """

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    segment_lengths: list[int]
    visual_index: torch.Tensor
    features: torch.Tensor | None
    tenants: Sequence[str] = ()
    visual_numbers: torch.Tensor | None = None
    wants_tokens: Sequence[bool] = ()
    num_hidden: Sequence[int] = ()
    looked_up: Sequence[bool] = ()
    spans: Sequence[Sequence[tuple[int, int]]] = ()

    def vector_spans(self, whole: Sequence[tuple[int, int]] | None = None) -> list[tuple[int, int]]:
        """Of each vector the tokens of the batch that it is pooled from: first, and behind the last.

        Args:
            whole: of each request that has one vector; None: all of its tokens.
        """
        bounds = list(pairwise([0, *accumulate(self.segment_lengths)]))
        whole = whole or bounds
        if not self.spans:
            return list(whole)
        return [
            span
            for (start, _), one, own in zip(bounds, whole, self.spans, strict=True)
            for span in [(start + first, start + stop) for first, stop in own] or [one]
        ]
