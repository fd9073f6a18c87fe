"""The pictures of the reranker's training: families of similar scenes, encoded once by the frozen tower.

The tower is the embedder's, and so are the wrong candidates: the scenes whose vectors stand nearest to a scene's own.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import Qwen3VLModel

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.batches import TOKEN_PIXELS, bucketed
from cenote_builtin.scenes.scenes import ASPECTS, Aspect, Scene, draw, meaning, sample_scene
from cenote_builtin.scenes.variants import KINDS, variants
from cenote_builtin.training.towers import Features, encode_images, read, read_heads

FAMILY_SIZE: Final = 8
"""A scene, the same objects with another look, and scenes that differ from it in one thing."""
NUM_CONFUSED: Final = 8
"""Wrong candidates of each scene under each aspect."""
_CHUNK: Final = 16
_MAKERS: Final = 2


@dataclass(frozen=True, slots=True)
class PicturePool:
    """Scenes by family, `FAMILY_SIZE` after each other, as one list."""

    scenes: list[Scene]
    levels: list[torch.Tensor]
    """The tower's outputs, `[pictures, tokens, hidden]` each, in float16."""
    side_tokens: int
    confused: dict[Aspect, NDArray[np.int64]]
    """`[families, NUM_CONFUSED]` what the embedder takes for the family's first, and means something else."""

    def features(self, pictures: Sequence[int]) -> Features:
        """Of some pictures, in float32."""
        return Features([level[list(pictures)].float() for level in self.levels], self.side_tokens)


def make_family(seed: int, side: int, number: int) -> list[Scene]:
    """One family of the training's side of the split; the same arguments give the same scenes."""
    rng = np.random.default_rng([seed, 4, side, number])
    scene = sample_scene(rng, held_out=False)
    by_kind = [variants(scene, kind, rng, held_out=False) for kind in KINDS]
    others: list[Scene] = []
    while len(others) < FAMILY_SIZE - 2:
        found = by_kind[int(rng.integers(len(KINDS)))]
        others += [found.pop()] if found else []
    return [scene, replace(scene, look=int(rng.integers(2**31))), *others]


def _draw_families(seed: int, side: int, numbers: Sequence[int]) -> tuple[list[Scene], NDArray[np.uint8]]:
    scenes = [scene for number in numbers for scene in make_family(seed, side, number)]
    return scenes, np.stack([np.asarray(draw(scene, side)) for scene in scenes])


def _drawn(seed: int, side: int, num_families: int) -> Iterator[tuple[list[Scene], NDArray[np.uint8]]]:
    chunks = [range(start, min(start + _CHUNK, num_families)) for start in range(0, num_families, _CHUNK)]
    with ProcessPoolExecutor(_MAKERS, mp_context=get_context("spawn")) as makers:
        yield from makers.map(_draw_families, [seed] * len(chunks), [side] * len(chunks), chunks)


@torch.inference_mode()
def make_pool(embedder: Qwen3VLModel, tokenizer: Tokenizer, seed: int, side: int, num_families: int) -> PicturePool:
    """Draw and encode the families, and find the embedder's wrong candidates among their first scenes."""
    scenes: list[Scene] = []
    parts: list[list[torch.Tensor]] = []
    for found, pixels in _drawn(seed, side, num_families):
        scenes += found
        parts.append([level.half() for level in encode_images(embedder, pixels).levels])
    levels = [torch.cat(level) for level in zip(*parts, strict=True)]
    pool = PicturePool(scenes, levels, side // TOKEN_PIXELS, {})
    return replace(pool, confused={aspect: _confused(embedder, tokenizer, pool, aspect) for aspect in ASPECTS})


def _confused(embedder: Qwen3VLModel, tokenizer: Tokenizer, pool: PicturePool, aspect: Aspect) -> NDArray[np.int64]:
    firsts = range(0, len(pool.scenes), FAMILY_SIZE)
    prompt = instructions.render(instructions.CANONICAL[aspect], num_image_tokens=pool.side_tokens**2)
    image_token_id = embedder.config.image_token_id
    vectors = []
    for start in range(0, len(firsts), 100):
        some = firsts[start : start + 100]
        heads, (rows,) = bucketed(tokenizer, [prompt] * len(some), range(len(some)))
        vectors.append(read(embedder, rows, read_heads(embedder, heads), pool.features(some), image_token_id))
    unit = torch.nn.functional.normalize(torch.cat(vectors))
    known: dict[object, int] = {}
    meanings = [meaning(pool.scenes[first], aspect) for first in firsts]
    ids = torch.tensor([known.setdefault(key, len(known)) for key in meanings])
    cosines = (unit @ unit.T).masked_fill(ids[:, None] == ids[None], -2.0)
    nearest: NDArray[np.int64] = cosines.topk(NUM_CONFUSED, dim=1).indices.numpy() * FAMILY_SIZE
    return nearest
