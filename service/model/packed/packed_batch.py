"""The batch that a model embeds: requests one behind the other, without padding. Knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import torch

from service.outputs.ask import Asks
from service.outputs.plan import TokenPlan


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
        plans: of each request; empty where there is nothing to say but its tokens.
        asks: of each request; empty where a state for each is enough.
    """

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    segment_lengths: list[int]
    visual_index: torch.Tensor
    features: torch.Tensor | None
    tenants: Sequence[str] = ()
    visual_numbers: torch.Tensor | None = None
    plans: Sequence[TokenPlan] = ()
    asks: Sequence[Asks] = ()

    @property
    def num_masked(self) -> list[int]:
        """Of each request, how many tokens at its end no token attends to; empty where that is not said."""
        return [plan.num_masked for plan in self.plans]

    @property
    def has_spans(self) -> bool:
        """Whether a request has a vector for each of some spans."""
        return any(plan.spans for plan in self.plans)

    def vector_spans(self, whole: Sequence[tuple[int, int]] | None = None) -> list[tuple[int, int]]:
        """Of each vector the tokens of the batch that it is pooled from: first, and behind the last.

        Args:
            whole: of each request that has one vector; None: all of its tokens.
        """
        bounds = list(pairwise([0, *accumulate(self.segment_lengths)]))
        whole = whole or bounds
        if not self.plans:
            return list(whole)
        return [
            span
            for (start, _), one, plan in zip(bounds, whole, self.plans, strict=True)
            for span in [(start + first, start + stop) for first, stop in plan.spans] or [one]
        ]
