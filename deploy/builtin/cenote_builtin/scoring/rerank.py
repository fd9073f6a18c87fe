"""Measure what a small reranker adds to the embedder.

`python -m cenote_builtin.scoring.rerank --reranker DIR --out DIR` writes `RERANKING.md` and `reranking.json`.
Every scene is held out of both trainings. Both models run by transformers' stock forward, and see the same scenes.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.questions import ask_contained
from cenote_builtin.scenes.scenes import ASPECTS, Aspect, draw, meaning, sample_scene
from cenote_builtin.scenes.variants import KINDS, Kind
from cenote_builtin.scoring.hard import NUM_FAMILIES, NUM_FIRST, NUM_OTHERS, SEED, SIZE_PIXELS, hard_scenes
from cenote_builtin.scoring.pair_reference import Pair, PairReference, Side
from cenote_builtin.scoring.reference import Reference
from cenote_builtin.scoring.rerank_card import write_card
from service.checkpoint.hub import CHECKPOINT

Vectors = NDArray[np.float32]
IsAnswer = Callable[[int, int], bool]
"""True if a candidate, the second number, answers a query."""


def first_of(queries: Vectors, candidates: Vectors) -> NDArray[np.int64]:
    """Per query the `NUM_FIRST` candidates of highest cosine, best first: `[queries, NUM_FIRST]`."""
    sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, candidates)]
    return np.argsort(-(sides[0] @ sides[1].T), axis=1)[:, :NUM_FIRST]


def both_stages(
    judge: PairReference,
    firsts: NDArray[np.int64],
    queries: Sequence[Side],
    candidates: Sequence[Side],
    is_answer: IsAnswer,
    instruction: str | None = None,
) -> dict[str, list[bool]]:
    """Per query, whether the first candidate is an answer before and after reranking, and whether one is among them."""
    pairs = [Pair(queries[row], candidates[one], instruction) for row, found in enumerate(firsts) for one in found]
    order = np.argsort(-judge.logits(pairs).reshape(firsts.shape), axis=1, kind="stable")
    rows = range(len(firsts))
    return {
        "before": [is_answer(row, int(firsts[row, 0])) for row in rows],
        "after": [is_answer(row, int(firsts[row, order[row, 0]])) for row in rows],
        "among": [any(is_answer(row, int(one)) for one in firsts[row]) for row in rows],
    }


class Measure:
    """Both models."""

    def __init__(self, embedder: Path, reranker: Path) -> None:
        self._embedder, self._judge = Reference(embedder), PairReference(reranker)

    def hard(self, kind: Kind, number: int) -> dict[str, dict[str, list[bool]]]:
        """Among 200 scenes of which three each differ from the wanted one in one thing: both directions, and pairs."""
        scenes, captions, images = hard_scenes(kind, number)
        step = 1 + NUM_OTHERS
        seen, told = self._embedder.embed_images(images, instructions.DEFAULT), self._embedder.embed_texts(captions)

        def is_answer(row: int, one: int) -> bool:
            return scenes[row * step].objects == scenes[one].objects

        return {
            "text_to_image": both_stages(
                self._judge, first_of(told[::step], seen), captions[::step], images, is_answer
            ),
            "image_to_text": both_stages(
                self._judge, first_of(seen[::step], told), images[::step], captions, is_answer
            ),
            "pairs": {"right": self._pairs(captions, images)},
        }

    def _pairs(self, captions: Sequence[str], images: Sequence[Image.Image]) -> list[bool]:
        """For each scene, True if its own caption is a yes and that of the next of its family a no."""
        step = 1 + NUM_OTHERS
        beside = [place - place % step + (place + 1) % step for place in range(len(images))]
        pairs = [Pair(captions[place], image) for place, image in enumerate(images)]
        pairs += [Pair(captions[other], image) for other, image in zip(beside, images, strict=True)]
        yes = self._judge.logits(pairs) > 0
        return [*yes[: len(images)].tolist(), *(~yes[len(images) :]).tolist()]

    def aspect(self, aspect: Aspect, number: int) -> dict[str, list[bool]]:
        """Captions of one aspect for an image, among 200 of random scenes, both stages under the same instruction."""
        rng = np.random.default_rng([SEED, len(KINDS) + ASPECTS.index(aspect), number])
        scenes = [sample_scene(rng, held_out=True) for _ in range(NUM_FAMILIES * (1 + NUM_OTHERS))]
        images = [draw(scene, SIZE_PIXELS) for scene in scenes[:NUM_FAMILIES]]
        captions = [caption(scene, aspect, rng) for scene in scenes]
        instruction = instructions.CANONICAL[aspect]
        seen, told = self._embedder.embed_images(images, instruction), self._embedder.embed_texts(captions)
        keys = [meaning(scene, aspect) for scene in scenes]
        firsts = first_of(seen, told)
        return both_stages(self._judge, firsts, images, captions, lambda row, one: keys[row] == keys[one], instruction)

    def contained(self, number: int) -> dict[str, list[bool]]:
        """Images of random scenes that contain what a query names by two or three properties each."""
        rng = np.random.default_rng([SEED, len(KINDS) + len(ASPECTS), number])
        scenes = [sample_scene(rng, held_out=True) for _ in range(NUM_FAMILIES * (1 + NUM_OTHERS))]
        images = [draw(scene, SIZE_PIXELS) for scene in scenes]
        questions = [ask_contained(scene, rng, told=False) for scene in scenes[:NUM_FAMILIES]]
        texts = [question.text or "" for question in questions]
        seen = self._embedder.embed_images(images, instructions.DEFAULT)
        firsts = first_of(self._embedder.embed_texts(texts), seen)
        return both_stages(self._judge, firsts, texts, images, lambda row, one: questions[row].holds(scenes[one]))


def mean_of(draws: Sequence[dict[str, list[bool]]]) -> dict[str, float]:
    """The share of each over all draws."""
    return {name: round(float(np.mean([d[name] for d in draws])), 4) for name in draws[0]}


def measure(embedder: Path, reranker: Path, num_draws: int) -> dict[str, Any]:
    """All figures of the card."""
    models, numbers = Measure(embedder, reranker), range(num_draws)
    hard = {kind: [models.hard(kind, number) for number in numbers] for kind in KINDS}
    return {
        "num_candidates": NUM_FAMILIES * (1 + NUM_OTHERS),
        "num_first": NUM_FIRST,
        "num_queries": NUM_FAMILIES * num_draws,
        "hard": {kind: {name: mean_of([d[name] for d in draws]) for name in draws[0]} for kind, draws in hard.items()},
        "aspects": {aspect: mean_of([models.aspect(aspect, number) for number in numbers]) for aspect in ASPECTS},
        "contained": mean_of([models.contained(number) for number in numbers]),
        "training": json.loads((reranker / "training.json").read_text()),
    }


def main() -> None:
    """Read the flags, measure, write and print the card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", type=Path, default=CHECKPOINT)
    parser.add_argument("--reranker", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    flags = parser.parse_args()
    print(write_card(flags.out, measure(flags.embedder, flags.reranker, flags.draws)))


if __name__ == "__main__":
    main()
