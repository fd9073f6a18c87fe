"""Held-out scenes as vectors under the stock forward, and whether the nearest is right: the data of the score card."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from service.model.builtin.scenes.captions import caption
from service.model.builtin.scenes.scenes import ASPECTS, Aspect, Scene, draw, meaning, sample_scene
from service.model.builtin.scoring.reference import Reference

NUM_CANDIDATES: Final = 200
SEED: Final = 77

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Draw:
    """One draw of held-out scenes: their images' vectors under each instruction, and their captions'."""

    scenes: list[Scene]
    images: dict[Aspect, Vectors]
    captions: dict[Aspect, Vectors]

    def keys(self, aspect: Aspect) -> list[Hashable]:
        """Meaning of each scene under the aspect."""
        return [meaning(scene, aspect) for scene in self.scenes]


def cut(vectors: Vectors, length: int) -> Vectors:
    """The first `length` components, of unit length again."""
    short = vectors[:, :length]
    unit: Vectors = short / np.linalg.norm(short, axis=1, keepdims=True)
    return unit


def hits(queries: Vectors, candidates: Vectors, keys: Sequence[Hashable], length: int) -> NDArray[np.bool_]:
    """Per query, whether the candidate of highest cosine means the same as the query.

    Args:
        queries: `[n, hidden]` raw vectors; row i has the meaning `keys[i]`.
        candidates: `[n, hidden]` raw vectors; row i has the meaning `keys[i]`.
    """
    best = (cut(queries, length) @ cut(candidates, length).T).argmax(axis=1)
    return np.array([keys[row] == keys[found] for row, found in enumerate(best)])


def embed_draw(reference: Reference, number: int, size_pixels: int, wording: dict[Aspect, str]) -> Draw:
    """Embed 200 held-out scenes under every instruction, and one caption of each under every aspect.

    Args:
        number: Which draw; its scenes and captions follow from it.
    """
    rng = np.random.default_rng([SEED, 2, number])
    scenes = [sample_scene(rng, held_out=True) for _ in range(NUM_CANDIDATES)]
    drawn = [draw(scene, size_pixels) for scene in scenes]
    return Draw(
        scenes,
        {aspect: reference.embed_images(drawn, wording[aspect]) for aspect in ASPECTS},
        {aspect: reference.embed_texts([caption(scene, aspect, rng) for scene in scenes]) for aspect in ASPECTS},
    )
