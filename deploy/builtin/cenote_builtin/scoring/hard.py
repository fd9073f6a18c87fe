"""Recall on hard scenes: for every query some candidates differ from the wanted one in one thing."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import Scene, draw
from cenote_builtin.scenes.variants import KINDS, Kind, hard_family
from cenote_builtin.scoring.reference import Reference

NUM_FAMILIES: Final = 50
NUM_OTHERS: Final = 3
NUM_FIRST: Final = 10
"""Candidates that a second stage sees."""
SEED: Final = 78
SIZE_PIXELS: Final = 128

Ranks = NDArray[np.int64]


class HardScenes(NamedTuple):
    """One draw: `NUM_FAMILIES` wanted scenes, each with `NUM_OTHERS` that differ from it in one thing after it."""

    scenes: list[Scene]
    captions: list[str]
    images: list[Image.Image]


def hard_scenes(kind: Kind, number: int) -> HardScenes:
    """Held-out scenes by kind of difference, captions that say everything, and images; the same for a number."""
    rng = np.random.default_rng([SEED, KINDS.index(kind), number])
    families = [hard_family(kind, NUM_OTHERS, rng, held_out=True) for _ in range(NUM_FAMILIES)]
    scenes = [scene for family in families for scene in family]
    captions = [caption(scene, "whole", rng) for scene in scenes]
    return HardScenes(scenes, captions, [draw(scene, SIZE_PIXELS) for scene in scenes])


def ranks(queries: NDArray[np.float32], candidates: NDArray[np.float32], wanted: NDArray[np.int64]) -> Ranks:
    """Number of candidates of raw vectors `[n, hidden]` with a higher cosine than the wanted one, for each query."""
    sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, candidates)]
    cosines = sides[0] @ sides[1].T
    found: Ranks = (cosines > cosines[np.arange(len(wanted)), wanted][:, None]).sum(axis=1)
    return found


def _draw(reference: Reference, kind: Kind, number: int) -> tuple[Ranks, Ranks]:
    """Ranks of the wanted image for a caption that says everything, and of the wanted caption for an image."""
    drawn = hard_scenes(kind, number)
    told, seen = reference.embed_texts(drawn.captions), reference.embed_images(drawn.images, instructions.DEFAULT)
    wanted = np.arange(NUM_FAMILIES) * (1 + NUM_OTHERS)
    return ranks(told[wanted], seen, wanted), ranks(seen[wanted], told, wanted)


def hard_figures(reference: Reference, num_draws: int) -> dict[str, Any]:
    """By kind of difference, recall at 1 and at `NUM_FIRST` among 200 candidates."""
    figures: dict[str, Any] = {}
    for kind in KINDS:
        draws = [_draw(reference, kind, number) for number in range(num_draws)]
        from_text, from_image = (np.concatenate(side) for side in zip(*draws, strict=True))
        figures[kind] = {
            "text_to_image": round(float((from_text == 0).mean()), 4),
            "image_to_text": round(float((from_image == 0).mean()), 4),
            "among_first": round(float((np.concatenate([from_text, from_image]) < NUM_FIRST).mean()), 4),
        }
    return figures
