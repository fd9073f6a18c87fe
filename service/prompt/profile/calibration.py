"""Ranges for int8 and uint8 that a checkpoint ships: least and greatest value of each component of a calibration set.

In: a folder and its profile. Out: ranges by length of vector; none when the checkpoint ships none. What is done with
them is for `cenote_kernels.quantize`; a length without ranges has a fixed one there.
"""

import math
from pathlib import Path
from typing import Annotated

import msgspec

from service.checkpoint.hub import CALIBRATION_FILE
from service.checkpoint.int8_range import Int8Range
from service.checkpoint.json_files import CheckpointError
from service.prompt.profile.profile import Profile

MIN_WIDTH = 1e-6
"""A component whose range is narrower carries nothing, and dividing by it would only make noise."""
LARGEST = 1.001
"""No component of a unit vector is larger, rounding allowed for: then the set was not normalized."""


class CalibrationFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`cenote_calibration.json`."""

    description: str
    """The texts and images of the set, for people."""
    num_vectors: Annotated[int, msgspec.Meta(ge=1)]
    """Size of the set."""
    ranges: Annotated[dict[int, Int8Range], msgspec.Meta(min_length=1)]
    """By length of vector, after cutting and normalizing."""


def load_calibration(folder: Path, profile: Profile) -> dict[int, Int8Range]:
    """The ranges of a checkpoint, by length of vector.

    Raises:
        CheckpointError: the file is there and is damaged, or does not fit the model.

    Source: sentence-transformers `quantize_embeddings` (ranges per dimension, from a calibration set).
    """
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return {}
    try:
        calibration = msgspec.json.decode(path.read_bytes(), type=CalibrationFile)
    except (OSError, msgspec.MsgspecError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    for length, found in calibration.ranges.items():
        _check(path, length, found, profile)
    return calibration.ranges


def _check(path: Path, length: int, found: Int8Range, profile: Profile) -> None:
    where = f"{path} has ranges for {length} dimensions"
    if not profile.offers(length) and length != profile.dimensions:
        raise CheckpointError(f"{where}, which the model does not offer")
    for name, values in (("minimum", found.minimum), ("maximum", found.maximum)):
        if len(values) != length:
            raise CheckpointError(f"{where} whose {name} has {len(values)} numbers")
        too_large = (i for i, value in enumerate(values) if not math.isfinite(value) or abs(value) > LARGEST)
        if (place := next(too_large, None)) is not None:
            raise CheckpointError(
                f"{where} whose {name}[{place}] is {values[place]}; components of unit vectors are from -1 to 1"
            )
    for place, (low, high) in enumerate(zip(found.minimum, found.maximum, strict=True)):
        if high - low < MIN_WIDTH:
            raise CheckpointError(
                f"{where} where component {place} goes from {low} to {high}; maximum - minimum is at least {MIN_WIDTH}"
            )
