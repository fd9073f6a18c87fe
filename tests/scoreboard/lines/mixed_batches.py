"""Batches of several tenants, some of whom lie about their images: nobody's vector moves by what another sends.

The lies are those of finding 1: more or fewer placeholders than features, in pairs, so that the batch's sums agree.
"""

import random
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.own_engine import Content, OwnEngine, words

NUM_CONTENTS = 80
NUM_QUERIES, NUM_DOCUMENTS = 4, 6
"""Contents that begin alike, as the pairs of one query do: what they begin with is computed once."""


def forged_pair(engine: OwnEngine, draw: random.Random) -> list[Content]:
    """One row with two placeholders more than its image has features, one with two fewer."""
    return [_forged(engine, draw, more) for more in (2, -2)]


def _forged(engine: OwnEngine, draw: random.Random, more: int) -> Content:
    image = draw.choice(engine.images)
    before = words(draw)
    pads = [engine.config.image_token_id] * (image.num_tokens + more)
    media = msgspec.structs.replace(image, offset=len(before), num_tokens=len(pads))
    return Content([*before, *pads, *words(draw)], (media,))


def stray_pad(engine: OwnEngine, draw: random.Random) -> Content:
    """A placeholder that no image stands behind, in a text or behind an image that has all of its own."""
    content = draw.choice((Content(words(draw)), _forged(engine, draw, 0)))
    return replace(content, token_ids=[*content.token_ids, engine.config.image_token_id, *words(draw)])


@line(
    11,
    "batches of several tenants with forged rows",
    "0 leaks: every victim equals its solo vector, every forged row fails",
    sizes=(2000, 50_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """Batches of well-formed rows, each of which must equal its solo vector, among forged ones that must fail."""
    draw, engine = random.Random(11), OwnEngine()
    pool = [engine.content(draw) for _ in range(NUM_CONTENTS)]
    pool += [pair for _ in range(NUM_QUERIES) for pair in engine.pairs(draw, NUM_DOCUMENTS)]
    solo: list[np.ndarray] = [engine.vector(content) for content in pool]
    num_victims, num_forged, failures = 0, 0, list[str]()
    for number in range(size):
        picked = [draw.randrange(len(pool)) for _ in range(draw.randrange(1, 7))]
        if number % 4 > 1:  # the pairs of a query among themselves
            picked = [NUM_CONTENTS + one % (NUM_QUERIES * NUM_DOCUMENTS) for one in picked]
        batch: list[tuple[Content, np.ndarray | None]] = [(pool[index], solo[index]) for index in picked]
        if number % 2:
            forged = [*forged_pair(engine, draw), *([stray_pad(engine, draw)] if number % 3 else [])]
            batch += [(one, None) for one in forged]
            num_forged += len(forged)
        draw.shuffle(batch)
        num_victims += len(picked)
        if wrong := engine.wrong_in(batch):
            failures.append(f"batch {number}: rows {wrong} of {len(batch)}")
    return Result(size, len(failures), [f"{num_victims} victims, {num_forged} forged rows", *failures[:5]])
