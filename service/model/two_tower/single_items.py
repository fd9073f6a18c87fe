"""Vectors of a batch in which every item is one text, or one image or audio whose vector is there already."""

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray

from service.model.packed.packed_batch import PackedBatch


def embed_single_items(
    batch: PackedBatch,
    hidden: int,
    device: torch.device,
    embed_texts: Callable[[list[NDArray[np.int64]]], torch.Tensor],
) -> torch.Tensor:
    """Features as they came; texts through their tower.

    Args:
        batch: what has a feature has one of them.
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


def by_length(
    texts: Sequence[NDArray[np.int64]], device: torch.device, embed: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Vectors, `[texts, hidden]`, in the order of the texts.

    Args:
        device: where they are embedded.
        embed: token ids `[num_texts, num_tokens]` to vectors `[num_texts, hidden]`.
    """
    lengths = np.array([len(text) for text in texts])
    vectors: list[torch.Tensor] = []
    for length in np.unique(lengths):
        ids = np.stack([text for text in texts if len(text) == length])
        vectors.append(embed(torch.from_numpy(ids).to(device)))
    order = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
    return torch.cat(vectors)[torch.from_numpy(order).to(device)]
