"""A two-tower model's batch: every item is one text, or one image or audio file whose vector is there already."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray

from service.model.packed.packed_batch import PackedBatch

Index = NDArray[np.int64]


def split_items(
    batch: PackedBatch, hidden: int, device: torch.device
) -> tuple[torch.Tensor, list[Index], torch.Tensor]:
    """Vectors with the features in their rows, token ids of each text, and the rows that its vectors belong in.

    Returns:
        vectors `[num_requests, hidden]`, float32, on the device, of which the texts' rows are not written;
        texts; rows `[num_texts]`.
    """
    num_items = len(batch.segment_lengths)
    starts = np.array([0, *accumulate(batch.segment_lengths)])
    vectors = torch.empty(num_items, hidden, dtype=torch.float32, device=device)
    others = np.searchsorted(starts, batch.visual_index, side="right") - 1
    if batch.visual is not None:
        vectors[torch.from_numpy(others).to(device)] = batch.visual.features.float()
    rows = np.setdiff1d(np.arange(num_items), others)
    token_ids = batch.token_ids.numpy()
    return vectors, [token_ids[starts[i] : starts[i + 1]] for i in rows], torch.from_numpy(rows)


def by_length(texts: Sequence[Index]) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Texts of one length together, shortest first: `[num_texts, num_tokens]` each, and the place of each text."""
    lengths = np.array([len(text) for text in texts])
    groups = [np.stack([text for text in texts if len(text) == length]) for length in np.unique(lengths)]
    places = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
    return [torch.from_numpy(group) for group in groups], torch.from_numpy(places)
