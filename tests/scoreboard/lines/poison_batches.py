"""Batches with inputs that break the real model: a token beyond the vocabulary raises, a NaN embedding spreads."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.own_engine import POISON_TOKEN, Content, OwnEngine, words

NUM_CONTENTS = 60
NUM_QUERIES, NUM_DOCUMENTS = 4, 6
"""Contents that begin alike, as the pairs of one query do: what they begin with is computed once."""
MAX_BATCH, MAX_POISONS = 32, 4
BEYOND_VOCABULARY = 10**6


def poisoned(draw: random.Random, pool: Sequence[Content]) -> Content:
    """Either raises in the embedding, for the whole batch, or comes out as NaN; some begin as others do."""
    bad = draw.choice((BEYOND_VOCABULARY, POISON_TOKEN))
    before = draw.choice((Content(words(draw)), draw.choice(pool)))
    return replace(before, token_ids=[*before.token_ids, bad, *words(draw)])


@line(
    13,
    "batches with poisoned inputs",
    "exactly the poisons fail; the others equal their solo vectors",
    sizes=(500, 10_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """n inputs of which k are poisoned: exactly those k must fail."""
    draw, engine = random.Random(13), OwnEngine()
    pool = [engine.content(draw) for _ in range(NUM_CONTENTS)]
    pool += [pair for _ in range(NUM_QUERIES) for pair in engine.pairs(draw, NUM_DOCUMENTS)]
    solo = [engine.vector(content) for content in pool]
    num_poisons, failures = 0, list[str]()
    for number in range(size):
        num_bad = number % (MAX_POISONS + 1)
        picked = [draw.randrange(len(pool)) for _ in range(draw.randrange(1, MAX_BATCH + 1 - num_bad))]
        batch: list[tuple[Content, np.ndarray | None]] = [(pool[index], solo[index]) for index in picked]
        batch += [(poisoned(draw, pool), None) for _ in range(num_bad)]
        draw.shuffle(batch)
        num_poisons += num_bad
        if wrong := engine.wrong_in(batch):
            failures.append(f"batch {number}: rows {wrong} of {len(batch)}")
    return Result(size, len(failures), [f"{num_poisons} poisons", *failures[:5]])
