"""What int8 costs: recall and the error of cosines, with the fixed range and with the ranges that a checkpoint ships.

In: draws of held-out scenes, a checkpoint folder. Out: figures of the score card. int8 is made by the op that serves.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cenote_kernels import Ranges, quantize
from service.model.builtin.architecture import MATRYOSHKA_DIMENSIONS
from service.model.builtin.draws import SEED, Draw, Vectors, cut, hits
from service.model.builtin.scenes import ASPECTS
from service.model.checkpoint import CALIBRATION_FILE


def int8_figures(draws: Sequence[Draw], checkpoint: Path) -> dict[str, Any]:
    """What int8 costs with the fixed range, and with the ranges that the checkpoint ships."""
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
        length: Matryoshka length.
        ranges: Calibrated ranges for the length; None for the fixed range.
    """
    exact, near = cut(vectors, length), cut(_in_int8(vectors, length, ranges), length)
    change = (near[1:] * near[:-1] - exact[1:] * exact[:-1]).sum(axis=1)
    return round(float(np.sqrt((change**2).mean())), 4)


def _int8(draws: Sequence[Draw], ranges: Mapping[int, Ranges]) -> dict[str, Any]:
    """Recall of pictures and error of cosines in int8, with the given ranges where there are any."""
    found: dict[str, Any] = {"recall": {aspect: {} for aspect in ASPECTS}, "cosine_error": {}}
    everything = np.concatenate(
        [side[aspect] for d in draws for side in (d.pictures, d.captions) for aspect in ASPECTS]
    )
    np.random.default_rng(SEED).shuffle(everything)
    for length in MATRYOSHKA_DIMENSIONS:
        own = ranges.get(length)
        for aspect in ASPECTS:
            sides = [(d.pictures[aspect], d.captions[aspect], d.keys(aspect)) for d in draws]
            rates = [
                hits(_in_int8(pictures, length, own), _in_int8(captions, length, own), keys, length).mean()
                for pictures, captions, keys in sides
            ]
            found["recall"][aspect][str(length)] = round(float(np.mean(rates)), 4)
        found["cosine_error"][str(length)] = cosine_error(everything, length, own)
    return found
