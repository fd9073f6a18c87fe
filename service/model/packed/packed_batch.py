"""The batch that a model embeds: requests one after the other, without padding. Knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from service.outputs.plan import TokenPlan

NO_INDEX = torch.zeros(0, dtype=torch.int64)


@dataclass(frozen=True, slots=True)
class VisualTokens:
    """Those of the images of a batch.

    Attributes:
        index: `[visual_tokens]`, int64, ascending: where the placeholders are, in packed order.
        features: `[visual_tokens, feature_width]`, on the device.
        numbers: `[visual_tokens]`, int64, from 0: equal where two are the same token of the same image. Empty: no two
            are, as far as is known.
    """

    index: torch.Tensor
    features: torch.Tensor
    numbers: torch.Tensor = NO_INDEX


NO_VISUAL = VisualTokens(NO_INDEX, torch.zeros(0, 0))


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """On the host, but for the features: what is computed where is decided there.

    Attributes:
        token_ids: `[total_tokens]`, int64.
        position_ids: `[rows, total_tokens]`, int64, as the model's `positions` gave them; each restarts per request.
        visual: placeholders and features of its images.
        plans: of each request; empty where there is nothing to say but its tokens.
        tenants: whose each request is; empty where nothing of the batch may be kept.
    """

    token_ids: torch.Tensor
    position_ids: torch.Tensor
    segment_lengths: list[int]
    visual: VisualTokens = NO_VISUAL
    plans: Sequence[TokenPlan] = ()
    tenants: Sequence[str] = ()
