"""MaxSim: the scores of late interaction, where each token of a query and of a document has a vector.

Source: colpali-engine's `score_multi_vector`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from service.fairness.threads import Steps
from service.ipc.vectors import Row

Vectors = NDArray[np.float32]
"""`[tokens, dimensions]`"""

BLOCK_VECTORS = 256
"""Of the query, that are compared together."""
BLOCK_PRODUCTS = 1 << 24
"""Products that are summed at once: a third of a millisecond with AVX-512, and the sums stay in a core's cache."""


def max_sim(query: Vectors, document: Vectors) -> Steps[float]:
    """sum_i max_j q_i · d_j, the largest similarity of each of the query's vectors; a step is a block of both sides."""
    total = 0.0
    for some in _blocks(query, BLOCK_VECTORS):
        best = np.full(len(some), -np.inf, np.float32)
        for others in _blocks(document, max(1, BLOCK_PRODUCTS // some.size)):
            np.maximum(best, (others @ some.T).max(axis=0), out=best)
            yield
        total += float(best.sum(dtype=np.float64))
    return total


def mean_max_sim(query: Vectors, document: Vectors) -> Steps[float]:
    """`max_sim` divided by the number of the query's vectors."""
    return (yield from max_sim(query, document)) / len(query)


def token_vectors(row: Row, dimensions: int) -> Vectors:
    """The vectors of a float32 row."""
    return np.frombuffer(row, "<f4").reshape(-1, dimensions)


def _blocks(vectors: Vectors, size: int) -> Iterator[Vectors]:
    return (vectors[start : start + size] for start in range(0, len(vectors), size))
