"""Measure the stored checkpoint on scenes it never saw: `python -m cenote_builtin.scoring.score`.

Writes `SCORECARD.md` and `scorecard.json`. Uses transformers' stock forward, and shares with the training only scenes,
captions, prompts and patches, so that a fault of the training forward shows here.
"""

import argparse
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from cenote_builtin.architecture import MATRYOSHKA_DIMENSIONS
from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import ASPECTS, Aspect, Scene, draw, meaning, sample_scene
from cenote_builtin.scoring.hard import hard_figures
from cenote_builtin.scoring.reference import Reference
from cenote_builtin.scoring.scorecard import CARDS, write_scorecard
from cenote_kernels import Ranges, quantize
from service.checkpoint.hub import CALIBRATION_FILE, CHECKPOINT

NUM_CANDIDATES: Final = 200
_SEED: Final = 77
_FEWER_DRAWS: Final = 2
_SIZE_PIXELS: Final = 128
_OTHER_SIZES: Final = (96, 192, 256, 512)

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
    """Per query, whether the candidate of highest cosine means the same.

    Queries and candidates are raw vectors, `[n, hidden]` each; row i of both has the meaning `keys[i]`.
    """
    best = (cut(queries, length) @ cut(candidates, length).T).argmax(axis=1)
    return np.array([keys[row] == keys[found] for row, found in enumerate(best)])


def embed_draw(reference: Reference, number: int, size_pixels: int, wording: dict[Aspect, str]) -> Draw:
    """Embed the held-out scenes of draw `number` under every instruction, and a caption of each under every aspect."""
    rng = np.random.default_rng([_SEED, 2, number])
    scenes = [sample_scene(rng, held_out=True) for _ in range(NUM_CANDIDATES)]
    drawn = [draw(scene, size_pixels) for scene in scenes]
    return Draw(
        scenes,
        {aspect: reference.embed_images(drawn, wording[aspect]) for aspect in ASPECTS},
        {aspect: reference.embed_texts([caption(scene, aspect, rng) for scene in scenes]) for aspect in ASPECTS},
    )


def _recall(draws: Sequence[Draw], aspect: Aspect, length: int, *, from_text: bool = False) -> float:
    sides = [
        (d.captions[aspect], d.images[aspect]) if from_text else (d.images[aspect], d.captions[aspect]) for d in draws
    ]
    rates = [hits(*side, d.keys(aspect), length).mean() for side, d in zip(sides, draws, strict=True)]
    return round(float(np.mean(rates)), 4)


def _recalls(draws: Sequence[Draw], lengths: Sequence[int], *, from_text: bool = False) -> dict[str, dict[str, float]]:
    return {
        aspect: {str(length): _recall(draws, aspect, length, from_text=from_text) for length in lengths}
        for aspect in ASPECTS
    }


def _both(draws: Sequence[Draw], length: int) -> float:
    """Share of images whose best caption is right under `colors` and under `shapes` at once."""
    rates = [
        np.mean(
            hits(d.images["colors"], d.captions["colors"], d.keys("colors"), length)
            & hits(d.images["shapes"], d.captions["shapes"], d.keys("shapes"), length)
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
            best = (cut(d.images[aspect], length) @ cut(pool, length).T).argmax(axis=1)
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
    """Recall for images of another size, at full length."""
    draws = [embed_draw(reference, number, size_pixels, instructions.CANONICAL) for number in range(_FEWER_DRAWS)]
    return {aspect: _recall(draws, aspect, MATRYOSHKA_DIMENSIONS[-1]) for aspect in ASPECTS}


def measure(checkpoint: Path, num_draws: int) -> dict[str, Any]:
    """All figures of the score card, means over `num_draws` draws, as plain JSON values.

    The stored weights are bfloat16, and are computed with in float32.
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
        "hard_scenes": hard_figures(reference, _FEWER_DRAWS),
        "training": json.loads((checkpoint / "training.json").read_text()),
    }


def int8_figures(draws: Sequence[Draw], checkpoint: Path) -> dict[str, Any]:
    """Cost of int8 with the fixed range, and with the ranges that the checkpoint ships."""
    shipped = json.loads((checkpoint / CALIBRATION_FILE).read_text())["ranges"]
    ranges = {
        int(length): (torch.tensor(own["minimum"]), torch.tensor(own["maximum"])) for length, own in shipped.items()
    }
    return {"fixed": _int8(draws, {}), "calibrated": _int8(draws, ranges)}


def _in_int8(vectors: Vectors, length: int, ranges: Ranges | None) -> Vectors:
    """The integers of the cut unit vectors, as floats: a vector store takes the cosine of these."""
    return quantize(torch.from_numpy(cut(vectors, length)), "int8", *(ranges or ())).float().numpy()


def cosine_error(vectors: Vectors, length: int, ranges: Ranges | None) -> float:
    """Root mean square of what int8 changes in the cosine of two vectors, over pairs of neighbors in the list.

    Args:
        vectors: `[n, hidden]` raw vectors, shuffled.
        ranges: Calibrated; None for the fixed range.
    """
    exact, near = cut(vectors, length), cut(_in_int8(vectors, length, ranges), length)
    change = (near[1:] * near[:-1] - exact[1:] * exact[:-1]).sum(axis=1)
    return round(float(np.sqrt((change**2).mean())), 4)


def _int8(draws: Sequence[Draw], ranges: Mapping[int, Ranges]) -> dict[str, Any]:
    """Recall of images and error of cosines in int8, with the given ranges where there are any."""
    found: dict[str, Any] = {"recall": {aspect: {} for aspect in ASPECTS}, "cosine_error": {}}
    everything = np.concatenate([side[aspect] for d in draws for side in (d.images, d.captions) for aspect in ASPECTS])
    np.random.default_rng(_SEED).shuffle(everything)
    for length in MATRYOSHKA_DIMENSIONS:
        own = ranges.get(length)
        for aspect in ASPECTS:
            sides = [(d.images[aspect], d.captions[aspect], d.keys(aspect)) for d in draws]
            rates = [
                hits(_in_int8(images, length, own), _in_int8(captions, length, own), keys, length).mean()
                for images, captions, keys in sides
            ]
            found["recall"][aspect][str(length)] = round(float(np.mean(rates)), 4)
        found["cosine_error"][str(length)] = cosine_error(everything, length, own)
    return found


def main() -> None:
    """Read the flags, measure, write and print the score card."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=CARDS)
    flags = parser.parse_args()
    print(write_scorecard(flags.out, measure(flags.checkpoint, flags.draws)))


if __name__ == "__main__":
    main()
