"""Prompts of random tokens, the same each time: what number formats are compared on."""

import random
from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch

from service.model.packed.packed_batch import PackedBatch

_SEED = 20261121
_FIRST_ID, _LAST_ID = 10, 4000


def known_prompts(num_embeddings: int, num_prompts: int) -> PackedBatch:
    """Prompts of 8 to 63 tokens from a vocabulary of so many."""
    draw = random.Random(_SEED)  # noqa: S311  # the same prompts each time, no secret
    lengths = [draw.randrange(8, 64) for _ in range(num_prompts)]
    last_id = min(_LAST_ID, num_embeddings - 1)
    token_ids = [draw.randint(_FIRST_ID, last_id) for _ in range(sum(lengths))]
    return PackedBatch(torch.tensor(token_ids), _positions(lengths), lengths)


def _positions(lengths: Sequence[int]) -> torch.Tensor:
    starts = [0, *accumulate(lengths)]
    return torch.cat([torch.arange(stop - start) for start, stop in pairwise(starts)]).expand(4, -1)
