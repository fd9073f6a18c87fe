"""Pillow's bicubic filter as fixed-point weights: which input pixels make an output pixel, and with what weight.

Computed on the host in float64 in Pillow's own order of operations, so that every weight is the same integer. (Pillow
builds for other processors may contract multiply and add; the published x86-64 ones do not.)

Source: Pillow `src/libImaging/Resample.c`, `precompute_coeffs` and `normalize_coeffs_8bpc`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

PRECISION_BITS = 32 - 8 - 2
SUPPORT = 2.0
"""Half the filter's width, in output pixels where the image shrinks, in input pixels where it grows."""


@dataclass(frozen=True, slots=True)
class Taps:
    """Weights along one axis.

    Attributes:
        first: `[out_size]`, int32: first input pixel of each output pixel.
        count: `[out_size]`, int32: how many.
        weights: `[out_size, max(count)]`, int32, in units of 2⁻²²; zero after `count`.
    """

    first: NDArray[np.int32]
    count: NDArray[np.int32]
    weights: NDArray[np.int32]


@lru_cache(maxsize=128)
def taps(in_size: int, out_size: int) -> Taps:
    """The weights that take `in_size` pixels to `out_size`."""
    scale = in_size / out_size
    filter_scale = max(scale, 1.0)
    support = SUPPORT * filter_scale
    center = (np.arange(out_size) + 0.5) * scale
    first = np.maximum((center - support + 0.5).astype(np.int64), 0)
    count = np.minimum((center + support + 0.5).astype(np.int64), in_size) - first
    offsets = np.arange(min(math.ceil(support) * 2 + 1, int(count.max())))
    distance = ((offsets + first[:, None]) - center[:, None] + 0.5) * (1.0 / filter_scale)
    raw = np.where(offsets < count[:, None], _filter(np.abs(distance)), 0.0)
    total = np.zeros(out_size)
    for column in raw.T:  # one after the other, as Pillow adds them: `sum` adds in pairs
        total += column
    scaled = np.divide(raw, total[:, None], out=raw, where=total[:, None] != 0) * (1 << PRECISION_BITS)
    weights = np.where(scaled < 0, scaled - 0.5, scaled + 0.5).astype(np.int32)
    return Taps(first.astype(np.int32), count.astype(np.int32), weights)


def _filter(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cubic convolution kernel with a = -1/2, for x >= 0 (Keys 1981)."""
    near = ((-0.5 + 2.0) * x - (-0.5 + 3.0)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * -0.5
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
