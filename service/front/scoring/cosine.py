"""Cosines, or dot products: the scores of an embedder, whose queries and documents each have one vector."""

import numpy as np
from numpy.typing import NDArray

from service.fairness.threads import Steps
from service.ipc.vectors import Row


def vector(row: Row) -> NDArray[np.float64]:
    """A float32 row as `[dimensions]` in float64."""
    return np.frombuffer(row, "<f4").astype(np.float64)


def unit_vector(row: Row) -> NDArray[np.float64]:
    """The same, its length 1 more exactly than float32 holds it."""
    own = vector(row)
    return own / np.linalg.norm(own)


def dot(query: NDArray[np.float64], document: NDArray[np.float64]) -> Steps[float]:
    """The dot product of two vectors, `[dimensions]` each, in one step: the cosine of two of length 1."""
    yield
    return float(query @ document)
