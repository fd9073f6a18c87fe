"""A tensor read from a file, neither copied nor converted: number format, shape, and a view of the bytes.

numpy has no bfloat16, so numbers are compared as bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from service.media.error_location import ErrorLocation
from service.media.item import ITEM_BYTES, GridThw, TensorDtype

MAX_AXES = 8
MAX_SIZE = 2**31 - 1
"""Shapes are shown in errors, so they are bounded before they are looked at."""

_CHUNK_NUMBERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Tensor:
    """Numbers in C order, little-endian."""

    dtype: TensorDtype
    shape: tuple[int, ...]
    """As the file states it; its product times the item's bytes is the length of `data`."""
    data: memoryview = field(repr=False)
    origin: str | None = None
    """The model that made it, as the file says; None where it says nothing."""
    grids: str | None = None
    """The images' grids, as `written_grids` writes them; likewise."""


def written_grids(grids: Sequence[GridThw]) -> str:
    """Grids as a file's metadata have them: `1,4,6;1,2,2`."""
    return ";".join(",".join(map(str, grid)) for grid in grids)


def first_beyond(tensor: Tensor, max_abs: float) -> int | None:
    """Find the first number that is not finite, or larger than a limit without its sign.

    Without the sign bit, IEEE 754 numbers are ordered as the integers that their bits make, infinities and NaNs last:
    one comparison does for both, and bfloat16 needs no library.

    Returns:
        Index of the number in C order; None when all are within the limit.

    Source: IEEE 754-2019, section 3.4.
    """
    bits = _bits(tensor)
    mask, limit = (1 << 8 * ITEM_BYTES[tensor.dtype] - 1) - 1, _limit_bits(tensor.dtype, max_abs)
    for start in range(0, len(bits), _CHUNK_NUMBERS):
        beyond = bits[start : start + _CHUNK_NUMBERS] & mask > limit
        if beyond.any():
            return start + int(beyond.argmax())
    return None


def is_finite(tensor: Tensor, index: int) -> bool:
    """Return whether one number of a tensor is neither infinite nor NaN."""
    exponent = {"float32": 0x7F800000, "float16": 0x7C00, "bfloat16": 0x7F80}[tensor.dtype]
    return int(_bits(tensor)[index]) & exponent != exponent


def refuse(what: str, location: ErrorLocation) -> NoReturn:
    """Refuse a file of features."""
    location.refuse("invalid_image_embeds", f"`image_embeds`: {what}.")


def shown(shape: tuple[int, ...]) -> str:
    """A shape for people: `4 x 768`."""
    return " x ".join(map(str, shape))


def _bits(tensor: Tensor) -> NDArray[np.unsignedinteger]:
    return np.frombuffer(tensor.data, "<u4" if ITEM_BYTES[tensor.dtype] == 4 else "<u2")


def _limit_bits(dtype: TensorDtype, max_abs: float) -> int:
    if dtype == "float16":
        return int(np.float16(min(max_abs, 65504.0)).view(np.uint16))
    bits = int(np.float32(max_abs).view(np.uint32))
    return bits if dtype == "float32" else bits >> 16
