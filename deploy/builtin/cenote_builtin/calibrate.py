"""Make the built-in model's ranges for int8 and uint8: `python -m cenote_builtin.calibrate`.

Writes `cenote_calibration.json` into a checkpoint folder: the minimum and maximum of each component over images and
captions like those of the training, for every length that the model offers. Recall is measured by `score.py`, on scenes
that are used neither here nor in training.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cenote_builtin.architecture import MATRYOSHKA_DIMENSIONS
from cenote_builtin.checkpoint import write_json
from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import caption
from cenote_builtin.scenes.scenes import ASPECTS, draw, sample_scene
from cenote_builtin.scoring.reference import Reference
from service.checkpoint.hub import CALIBRATION_FILE, CHECKPOINT

NUM_SCENES: Final = 500
_SEED: Final = 20261122
_SIDES_PIXELS: Final = (96, 128, 128, 128)
"""Out of every four images; as in training."""
_DECIMALS: Final = 6

Vectors = NDArray[np.float32]


def calibration_vectors(reference: Reference, num_scenes: int) -> Vectors:
    """Raw vectors of the scenes' images under every instruction, and of a caption of each under every aspect.

    Returns:
        `[10 · num_scenes, hidden]`.
    """
    rng = np.random.default_rng(_SEED)
    scenes = [sample_scene(rng, held_out=False) for _ in range(num_scenes)]
    images = [draw(scene, _SIDES_PIXELS[i % len(_SIDES_PIXELS)]) for i, scene in enumerate(scenes)]
    parts = [reference.embed_images(images, instructions.CANONICAL[aspect]) for aspect in ASPECTS]
    parts += [reference.embed_texts([caption(scene, aspect, rng) for scene in scenes]) for aspect in ASPECTS]
    return np.concatenate(parts)


def ranges(vectors: Vectors, lengths: Sequence[int]) -> dict[str, dict[str, list[float]]]:
    """The minimum and maximum of each component of the raw vectors, cut to each length and normalized.

    Source: sentence-transformers `quantize_embeddings`, which takes ranges from a calibration set in this way.
    """
    found = {}
    for length in lengths:
        unit = vectors[:, :length] / np.linalg.norm(vectors[:, :length], axis=1, keepdims=True)
        found[str(length)] = {"minimum": _rounded(unit.min(axis=0)), "maximum": _rounded(unit.max(axis=0))}
    return found


def _rounded(values: Vectors) -> list[float]:
    return [round(float(value), _DECIMALS) for value in values]


def main() -> None:
    """Read the flags, embed, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--scenes", type=int, default=NUM_SCENES)
    flags = parser.parse_args()
    vectors = calibration_vectors(Reference(flags.checkpoint), flags.scenes)
    write_json(
        flags.checkpoint / CALIBRATION_FILE,
        {
            "description": "Pictures under five instructions and captions, of scenes of the training's kind.",
            "num_vectors": len(vectors),
            "ranges": ranges(vectors, MATRYOSHKA_DIMENSIONS),
        },
    )
    print(f"{flags.checkpoint / CALIBRATION_FILE}: ranges of {len(vectors)} vectors")


if __name__ == "__main__":
    main()
