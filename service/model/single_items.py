"""Vectors of a batch in which every item is one text, or one picture or sound whose vector is there already."""

from collections.abc import Callable
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray

from service.model.packed_batch import PackedBatch


def embed_single_items(
    batch: PackedBatch,
    hidden: int,
    device: torch.device,
    embed_texts: Callable[[list[NDArray[np.int64]]], torch.Tensor],
) -> torch.Tensor:
    """Features as they came; texts through their tower.

    Args:
        batch: what has a feature has one of them.
        hidden: numbers of a vector.
        device: where they are.
        embed_texts: token ids of each text to vectors `[num_texts, hidden]`.

    Returns:
        `[num_requests, hidden]`, float32.
    """
    num_prompts = len(batch.segment_lengths)
    starts = np.array([0, *accumulate(batch.segment_lengths)])
    raw = torch.empty(num_prompts, hidden, dtype=torch.float32, device=device)
    others = np.searchsorted(starts, batch.visual_index.numpy(), side="right") - 1
    if batch.features is not None:
        raw[torch.from_numpy(others).to(device)] = batch.features.float()
    texts = np.setdiff1d(np.arange(num_prompts), others)
    if len(texts):
        token_ids = batch.token_ids.numpy()
        found = embed_texts([token_ids[starts[i] : starts[i + 1]] for i in texts])
        raw[torch.from_numpy(texts).to(device)] = found.float()
    return raw
