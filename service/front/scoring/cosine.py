"""Cosines: the scores of an embedder, whose queries and documents each have one vector."""

import numpy as np
from numpy.typing import NDArray

from service.fairness.threads import Steps
from service.ipc.vectors import Row


def unit_vector(row: Row) -> NDArray[np.float64]:
    """A float32 row as `[dimensions]` in float64, its length 1 more exactly than float32 holds it."""
    vector = np.frombuffer(row, "<f4").astype(np.float64)
    return vector / np.linalg.norm(vector)


def dot(query: NDArray[np.float64], document: NDArray[np.float64]) -> Steps[float]:
    """The cosine of two vectors of length 1, `[dimensions]` each, in one step."""
    yield
    return float(query @ document)
