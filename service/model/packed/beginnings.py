"""Which beginnings of a batch's prompts are worth standing once in attention. numpy only; knows no tokens.

A prompt behind a beginning attends to it in a part of its own, and the parts are merged (`cascade.py`). That pays where
several prompts share a long one: a query and its candidates, texts behind one instruction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]

LEAST_TOKENS: Final = 32
"""Of a beginning that stands once."""
LEAST_SAVED: Final = 8
"""It has to save one place in so many of its prompts': merging reads and writes all of them once more."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Prompts, by their numbers, and how many tokens at their beginning are the same."""

    num_tokens: int
    prompts: tuple[int, ...]

    @property
    def num_saved(self) -> int:
        """Places that need not stand in attention's order."""
        return self.num_tokens * (len(self.prompts) - 1)


def worth_apart(by_text: Sequence[int], common: Index, lengths: Index) -> list[Shared]:
    """Beginnings that save most, no prompt in two of them. Behind each of its prompts a token is left.

    Args:
        by_text: prompts in the order of what they hold.
        common: `[prompts]`, tokens that each of `by_text` shares with the one before it.
        lengths: `[prompts]`, by number.
    """
    found = _best(by_text, common, lengths)
    return [one for one in found if one.num_saved * LEAST_SAVED >= lengths[list(one.prompts)].sum()]


def _best(by_text: Sequence[int], common: Index, lengths: Index) -> list[Shared]:
    """All with what they have in common, or parts of them with more each, whichever saves more."""
    if len(by_text) < 2 or common[1:].max() < LEAST_TOKENS:
        return []
    least = int(common[1:].min())
    whole = Shared(min(least, int(lengths[list(by_text)].min()) - 1), tuple(by_text))
    cuts = [0, *(np.flatnonzero(common[1:] == least) + 1), len(by_text)]
    ranges = [slice(*one) for one in pairwise(cuts)]
    parts = [part for one in ranges for part in _best(by_text[one], common[one], lengths)]
    if whole.num_tokens >= LEAST_TOKENS and whole.num_saved >= sum(part.num_saved for part in parts):
        return [whole]
    return parts
