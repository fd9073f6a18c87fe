"""Dot products of sparse vectors: the scores of a model whose vectors are all sparse.

Source: sentence-transformers 6.2 `SparseEncoder.similarity`, whose default is the dot product.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from service.fairness.threads import Steps
from service.ipc.sparse_row import unpack_sparse
from service.ipc.vectors import Row


class Entries(NamedTuple):
    """A sparse vector.

    Attributes:
        indices: `[num_entries]`, rising.
        values: `[num_entries]`.
    """

    indices: NDArray[Any]
    values: NDArray[Any]


def entries(row: Row) -> Entries:
    """The entries of a row."""
    return Entries(*unpack_sparse(row))


def sparse_dot(query: Entries, document: Entries) -> Steps[float]:
    """sum_i q_i d_i, over the indices that both have, in one step."""
    yield
    if not len(query.indices):
        return 0.0
    places = np.minimum(np.searchsorted(query.indices, document.indices), len(query.indices) - 1)
    shared = query.indices[places] == document.indices
    return float(query.values[places[shared]].astype(np.float64) @ document.values[shared].astype(np.float64))
