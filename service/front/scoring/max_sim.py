"""MaxSim: the scores of late interaction, where each token of a query and of a document has a vector.

Source: colpali-engine's `score_multi_vector`.
"""

import numpy as np
from numpy.typing import NDArray

from service.ipc.vectors import Row

MAX_PRODUCTS = 1 << 17
"""Products that are summed at once: half of those from which OpenBLAS takes threads of its own, beside the engine's."""


def max_sim(query: NDArray[np.float32], document: NDArray[np.float32]) -> float:
    """sum_i max_j q_i · d_j, the largest similarity of each of the query's vectors.

    Args:
        query: `[tokens, dimensions]`.
        document: `[tokens, dimensions]`.
    """
    best = np.full(len(query), -np.inf, np.float32)
    step = max(1, MAX_PRODUCTS // query.size)
    for start in range(0, len(document), step):
        np.maximum(best, (query @ document[start : start + step].T).max(axis=1), out=best)
    return float(best.sum(dtype=np.float64))


def mean_max_sim(query: NDArray[np.float32], document: NDArray[np.float32]) -> float:
    """`max_sim` divided by the number of the query's vectors."""
    return max_sim(query, document) / len(query)


def token_vectors(row: Row, dimensions: int) -> NDArray[np.float32]:
    """The vectors of a float32 row, `[tokens, dimensions]`."""
    return np.frombuffer(row, "<f4").reshape(-1, dimensions)
