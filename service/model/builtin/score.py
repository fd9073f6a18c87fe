"""Measure the stored checkpoint on scenes it never saw: `python -m service.model.builtin.score`.

In: a checkpoint folder. Out: `SCORECARD.md` and `scorecard.json`. It goes through transformers' stock forward alone and
shares with the training only scenes, captions, prompts and patches, so that a fault of the training forward shows here.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from service.model.builtin import CHECKPOINT, instructions
from service.model.builtin.architecture import MATRYOSHKA_DIMENSIONS
from service.model.builtin.draws import NUM_CANDIDATES, Draw, cut, embed_draw, hits
from service.model.builtin.int8_score import int8_figures
from service.model.builtin.reference import Reference
from service.model.builtin.scenes import ASPECTS, Aspect
from service.model.builtin.scorecard import write_scorecard

_FEWER_DRAWS: Final = 2
_SIZE_PIXELS: Final = 128
_OTHER_SIZES: Final = (96, 192, 256, 512)


def _recall(draws: Sequence[Draw], aspect: Aspect, length: int, *, from_text: bool = False) -> float:
    sides = [
        (d.captions[aspect], d.pictures[aspect]) if from_text else (d.pictures[aspect], d.captions[aspect])
        for d in draws
    ]
    rates = [hits(*side, d.keys(aspect), length).mean() for side, d in zip(sides, draws, strict=True)]
    return round(float(np.mean(rates)), 4)


def _recalls(draws: Sequence[Draw], lengths: Sequence[int], *, from_text: bool = False) -> dict[str, dict[str, float]]:
    return {
        aspect: {str(length): _recall(draws, aspect, length, from_text=from_text) for length in lengths}
        for aspect in ASPECTS
    }


def _both(draws: Sequence[Draw], length: int) -> float:
    """Share of pictures whose best caption is right under `colors` and under `shapes` at once."""
    rates = [
        np.mean(
            hits(d.pictures["colors"], d.captions["colors"], d.keys("colors"), length)
            & hits(d.pictures["shapes"], d.captions["shapes"], d.keys("shapes"), length)
        )
        for d in draws
    ]
    return round(float(np.mean(rates)), 4)


def _mixed(draws: Sequence[Draw], length: int) -> dict[str, float]:
    """Recall with all 5 x 200 captions as candidates, where the instruction alone tells the aspects apart."""
    rates: dict[str, list[float]] = {aspect: [] for aspect in ASPECTS}
    for d in draws:
        pool = np.concatenate([d.captions[aspect] for aspect in ASPECTS])
        keys = [(aspect, key) for aspect in ASPECTS for key in d.keys(aspect)]
        for aspect in ASPECTS:
            best = (cut(d.pictures[aspect], length) @ cut(pool, length).T).argmax(axis=1)
            wanted = [(aspect, key) for key in d.keys(aspect)]
            rates[aspect].append(float(np.mean([keys[found] == key for found, key in zip(best, wanted, strict=True)])))
    return {aspect: round(float(np.mean(values)), 4) for aspect, values in rates.items()}


def _free_wording(reference: Reference, size_pixels: int) -> dict[str, float]:
    """Recall under instructions whose wording was never trained, at full length."""
    draws = [
        embed_draw(reference, number, size_pixels, {a: instructions.UNSEEN[a][number] for a in ASPECTS})
        for number in range(_FEWER_DRAWS)
    ]
    return {aspect: _recall(draws, aspect, MATRYOSHKA_DIMENSIONS[-1]) for aspect in ASPECTS}


def _at_size(reference: Reference, size_pixels: int) -> dict[str, float]:
    """Recall for pictures of another size, at full length."""
    draws = [embed_draw(reference, number, size_pixels, instructions.CANONICAL) for number in range(_FEWER_DRAWS)]
    return {aspect: _recall(draws, aspect, MATRYOSHKA_DIMENSIONS[-1]) for aspect in ASPECTS}


def measure(checkpoint: Path, num_draws: int) -> dict[str, Any]:
    """All figures of the score card, as plain JSON values.

    Args:
        checkpoint: Folder of the stored bfloat16 weights; they are computed with in float32.
        num_draws: Draws of 200 scenes to average over.
    """
    reference, full = Reference(checkpoint), MATRYOSHKA_DIMENSIONS[-1]
    draws = [embed_draw(reference, number, _SIZE_PIXELS, instructions.CANONICAL) for number in range(num_draws)]
    return {
        "num_candidates": NUM_CANDIDATES,
        "num_draws": num_draws,
        "size_pixels": _SIZE_PIXELS,
        "image_to_text": _recalls(draws, MATRYOSHKA_DIMENSIONS),
        "text_to_image": _recalls(draws, MATRYOSHKA_DIMENSIONS, from_text=True),
        "colors_and_shapes_both_right": {str(length): _both(draws, length) for length in MATRYOSHKA_DIMENSIONS},
        "image_to_text_int8": int8_figures(draws, checkpoint),
        "image_to_text_mixed_pool": _mixed(draws, full),
        "image_to_text_at_size": {str(size): _at_size(reference, size) for size in _OTHER_SIZES},
        "image_to_text_unseen_wording": _free_wording(reference, _SIZE_PIXELS),
        "training": json.loads((checkpoint / "training.json").read_text()),
    }


def main() -> None:
    """Read the flags, measure, write and print the score card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=CHECKPOINT.parent)
    flags = parser.parse_args()
    print(write_scorecard(flags.out, measure(flags.checkpoint, flags.draws)))


if __name__ == "__main__":
    main()
