"""Weights of the vocabulary's entries as sparse rows, and as the result cache keeps them."""

from collections.abc import Sequence

import numpy as np
import torch

from service.outputs.sparse import pack_sparse, unpack_sparse


def sparse_rows(weights: torch.Tensor) -> list[bytes | None]:
    """The entries that are not zero, of each row of `[num_texts, num_entries]`; None where a weight is not finite."""
    is_finite = weights.isfinite().all(dim=1).tolist()
    found = weights.cpu().numpy()
    return [_row(one) if valid else None for one, valid in zip(found, is_finite, strict=True)]


def dense_weights(rows: Sequence[bytes], num_entries: int) -> torch.Tensor:
    """What `sparse_rows` gave, as `[num_texts, num_entries]`, float32."""
    weights = np.zeros((len(rows), num_entries), np.float32)
    for one, row in zip(weights, rows, strict=True):
        indices, values = unpack_sparse(row)
        one[indices] = values
    return torch.from_numpy(weights)


def _row(weights: np.ndarray) -> bytes:
    indices = np.flatnonzero(weights)
    return pack_sparse(indices, weights[indices])
