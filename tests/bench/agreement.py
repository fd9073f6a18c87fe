"""Two sides are compared only when they give the same vectors: anything else would be another model's time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MIN_COSINE = 0.9999


def least_cosine(ours: Sequence[NDArray[np.float32]], theirs: Sequence[NDArray[np.float32]]) -> float:
    """The worst agreement of two lists of unit vectors."""
    return min(float(one @ other) for one, other in zip(ours, theirs, strict=True))


def check_agreement(name: str, ours: Sequence[NDArray[np.float32]], theirs: Sequence[NDArray[np.float32]]) -> str:
    """A note on how well two sides agree.

    Raises:
        RuntimeError: they do not.
    """
    if (cosine := least_cosine(ours, theirs)) < MIN_COSINE:
        raise RuntimeError(f"{name} gives other vectors: cosine {cosine:.6f}")
    return f"{name}: the same vectors, cosine at least {min(cosine, 1.0):.6f}"


def check_tokens(name: str, ours: int, theirs: int) -> None:
    """Require that two sides read as many tokens, padding not counted.

    Raises:
        RuntimeError: they do not.
    """
    if ours != theirs:
        raise RuntimeError(f"{name} reads {theirs} tokens, not {ours}")


def max_difference(ours: Sequence[NDArray[np.float32]], theirs: Sequence[NDArray[np.float32]]) -> float:
    """The largest difference of two numbers that should be equal."""
    return max(float(np.abs(one - other).max()) for one, other in zip(ours, theirs, strict=True))
