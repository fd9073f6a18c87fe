"""Vectors of a batch in which every item is one text, or one picture or sound whose vector is there already."""

from collections.abc import Callable
from itertools import accumulate

import numpy as np
import torch

from service.model.packed_batch import PackedBatch


def embed_single_items(
    batch: PackedBatch, hidden: int, device: torch.device, embed_texts: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Features as they came; texts through their tower, equal lengths together: no padding and no mask.

    Args:
        batch: what has a feature has one of them.
        hidden: numbers of a vector.
        device: where they are.
        embed_texts: token ids `[num_texts, num_tokens]` to vectors `[num_texts, hidden]`.

    Returns:
        `[num_requests, hidden]`, float32.
    """
    lengths = np.array(batch.segment_lengths)
    starts = np.array([0, *accumulate(batch.segment_lengths)])
    raw = torch.empty(len(lengths), hidden, dtype=torch.float32, device=device)
    others = np.searchsorted(starts, batch.visual_index.numpy(), side="right") - 1
    if batch.features is not None:
        raw[torch.from_numpy(others).to(device)] = batch.features.float()
    texts = np.setdiff1d(np.arange(len(lengths)), others)
    for num_tokens in np.unique(lengths[texts]):
        group = texts[lengths[texts] == num_tokens]
        places = torch.from_numpy(starts[group][:, None] + np.arange(num_tokens))
        raw[torch.from_numpy(group).to(device)] = embed_texts(batch.token_ids[places].to(device)).float()
    return raw
