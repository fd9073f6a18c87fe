"""The resize of a video's frames: torch's antialiased bicubic on uint8, without torch, bit for bit.

In: RGB pixels. Out: RGB pixels of another size. Knows no video.

torch's own weights are float32, and far from the corner so coarse that Pillow's results differ by up to 0.02. With
these weights a plain sum is right but for its last bits, and those matter only next to a half, where two sums may round
to different integers. These few values are computed again in torch's own arithmetic, order of sums included.

Source: ATen `UpSampleKernel.cpp`, `_compute_indices_min_size_weights_aa` and `interpolate_aa_single_dim`, as compiled
in torch's CPU wheels for x86; torchvision `resize` (float32, clamp, round).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from service.media.item import Size

BICUBIC = 3
"""Pillow's number of the filter, which reaches two pixels; bilinear, 2, reaches one."""

NEAR_HALF = 1e-3
"""Distance to a half within which a plain sum is not trusted: ten times the largest difference seen."""

MAX_NEAR_SHARE = 1 / 16
"""An image with more values near a half (drawn for that) keeps the plain sums: the cost stays bounded."""

CHUNK = 4096
"""Values computed again at once."""

_UNFUSED = 4
"""torch's compiler multiplies so many taps at once before it adds them; those that are left are fused multiply-adds."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Taps:
    """The taps of one axis: start and length of each result's window, and its weights, `[length, window]`."""

    first: Ints
    num: Ints
    weights: Floats


def resize_antialiased(pixels: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """Resize as `torchvision.transforms.functional.resize(..., BICUBIC, antialias=True)` does on uint8.

    Args:
        pixels: RGB, uint8 [height, width, 3].
        size: height and width to reach; a no-op when the size already matches.

    Returns:
        RGB, uint8 [height, width, 3].

    Source: docs/notes/qwen3-vl-embedding.md, "Videos".
    """
    if pixels.shape[:2] == size:
        return pixels
    down, along = _taps(pixels.shape[0], size[0]), _taps(pixels.shape[1], size[1])
    across = _plain(_plain(pixels, down).swapaxes(0, 1), along)
    found = np.ascontiguousarray(across.swapaxes(0, 1))
    near = np.flatnonzero(np.abs(found - np.floor(found) - np.float32(0.5)) < NEAR_HALF)
    if len(near) <= found.size * MAX_NEAR_SHARE:
        flat = found.reshape(-1)
        for start in range(0, len(near), CHUNK):
            places = near[start : start + CHUNK]
            row, column, channel = np.unravel_index(places, found.shape)
            flat[places] = _exact(pixels, row, column, channel, down, along)
    return np.rint(found).clip(0, 255).astype(np.uint8)


def resize_in_floats(pixels: NDArray[np.uint8], size: Size, resample: int) -> Floats:
    """Resize as torch's `interpolate(..., antialias=True)` does in float32, but for the last bits; nothing is rounded.

    Args:
        pixels: RGB, uint8 [height, width, 3].
        size: height and width to reach.
        resample: Pillow's number: 2 is bilinear, 3 bicubic.

    Returns:
        [height, width, 3]; bicubic goes beyond 0 and 255.
    """
    if pixels.shape[:2] == size:
        return pixels.astype(np.float32)
    down, along = (_taps(*lengths, resample) for lengths in zip(pixels.shape, size, strict=False))
    return np.ascontiguousarray(_plain(_plain(pixels, down).swapaxes(0, 1), along).swapaxes(0, 1))


def _plain(values: Floats | NDArray[np.uint8], taps: _Taps) -> Floats:
    """Σ value · weight along the first axis, tap by tap."""
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    total = np.zeros((len(taps.weights), rows.shape[1]), np.float32)
    for i in range(taps.weights.shape[1]):
        term = rows[np.minimum(taps.first + i, len(rows) - 1)].astype(np.float32, copy=False)
        term *= taps.weights[:, i, None]
        total += term
    return total.reshape(-1, *values.shape[1:])


def _exact(pixels: NDArray[np.uint8], row: Ints, column: Ints, channel: Ints, down: _Taps, along: _Taps) -> Floats:
    """Single results in torch's arithmetic: along the rows first, then down the column. `[len(row)]`."""
    rows, columns = _window(down, row, pixels.shape[0]), _window(along, column, pixels.shape[1])
    window = pixels[rows[:, :, None], columns[:, None, :], channel[:, None, None]].astype(np.float32)
    across = _summed(window, along.weights[column][:, None, :], along.num[column][:, None])
    return _summed(across, down.weights[row], down.num[row])


def _window(taps: _Taps, place: Ints, length: int) -> Ints:
    window: Ints = np.minimum(taps.first[place][:, None] + np.arange(taps.weights.shape[1]), length - 1)
    return window


def _summed(values: Floats, weights: Floats, num: Ints) -> Floats:
    """Σ value · weight over the last axis, in torch's order and precision."""
    num_unfused = (num - 1) // _UNFUSED * _UNFUSED
    total = values[..., 0] * weights[..., 0]
    for i in range(1, values.shape[-1]):
        unfused = total + values[..., i] * weights[..., i]
        total = np.where(i <= num_unfused, unfused, _fused(values[..., i], weights[..., i], total))
    return total


def _fused(a: Floats, b: Floats | np.float32, c: Floats | np.float32) -> Floats:
    """``a · b + c`` rounded once."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def _taps(length: int, wanted: int, resample: int = BICUBIC) -> _Taps:
    one = np.float32(1)
    scale = np.float32(length) / np.float32(wanted)
    support = np.float32(resample - 1) * max(scale, one)
    center = (float(scale) * (np.arange(wanted) + 0.5)).astype(np.float32)
    first = np.maximum((center - support + np.float32(0.5)).astype(np.int64), 0)
    num = np.minimum((center + support + np.float32(0.5)).astype(np.int64), length) - first
    taps = np.arange(int(num.max()))
    places = (first[:, None] + taps).astype(np.float32) - center[:, None]
    distances = np.abs(((places + 0.5) * float(one / max(scale, one))).astype(np.float32))
    weights: Floats = _cubic(distances) if resample == BICUBIC else (one - distances).clip(0)
    weights[taps >= num[:, None]] = 0
    total = np.zeros(wanted, np.float32)
    for i in taps:
        total += weights[:, i]
    return _Taps(first, num, weights / total[:, None])


def _cubic(x: Floats) -> Floats:
    """Keys' kernel with a = -1/2, in fused multiply-adds as torch's compiler makes them."""
    a = np.float32(-0.5)
    near = _fused(_fused(x, a + 2, -(a + 3)) * x, x, np.float32(1))
    far = _fused(_fused(_fused(x, a, -5 * a), x, 8 * a), x, -4 * a)
    return np.where(x < 1, near, np.where(x < 2, far, np.float32(0))).astype(np.float32)
