"""Stretches of one array that have different lengths, all of them at once. numpy only.

A batch may have hundreds of short prompts, and some steps of Python for each of them take as long as a layer does.
"""

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]


def ragged_arange(starts: Index, lengths: Index) -> Index:
    """``concat(arange(start, start + length) for start, length in zip(starts, lengths))``.

    Args:
        starts: `[num]`.
        lengths: `[num]`, 0 or more each.
    """
    places: Index = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return places


def common_lengths(values: Index, ones: Index, others: Index, limits: Index) -> Index:
    """Number of values that each of some pairs of stretches has in common at its start, `[num_pairs]`.

    Args:
        values: of which they are stretches.
        ones: `[num_pairs]`, the start of the one of each pair.
        others: `[num_pairs]`, the start of the other.
        limits: `[num_pairs]`, the length of the shorter.
    """
    pair = np.repeat(np.arange(len(limits)), limits)
    place = ragged_arange(np.zeros_like(limits), limits)
    unequal = np.flatnonzero(values[ones[pair] + place] != values[others[pair] + place])[::-1]
    common = limits.copy()
    common[pair[unequal]] = place[unequal]  # backwards: the first of each pair is written last, and stays
    return common
