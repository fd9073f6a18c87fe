"""Pillow's bicubic resize of RGB pixels, byte for byte: a pass along each axis, rounded to bytes between."""

import ctypes
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.bicubic import PRECISION_BITS, Taps, taps
from cenote_kernels.launch import MAX_SHARED_BYTES, Argument, Call, Launch, on_device
from cenote_kernels.ops import Axis, OpSpec, TensorSpec

COLUMNS, ROWS, LINES = 32, 16, 8
"""Output columns and rows of a block of the horizontal pass, output rows of the vertical one; as in resize.cu."""


class Rows(NamedTuple):
    """Pixels of three bytes, in rows that are `pitch` bytes apart."""

    bytes: torch.Tensor
    height: int
    width: int
    pitch: int


def vertical_first(in_height: int, in_width: int, height: int, width: int) -> bool:
    """True if Pillow takes the vertical pass first: the height loses more than twice what the width loses.

    Each pass rounds, so the order shows in the bytes. Before version 13 the horizontal pass was always the first.

    Source: Pillow 13 `src/libImaging/Resample.c`, `ImagingResampleInner`.
    """
    return in_height - height > max(0, 2 * (in_width - width))


def resize_reference(pixels: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """`resize` in plain torch, on 32-bit integers."""
    axes = [(1, width), (0, height)]
    if vertical_first(pixels.shape[0], pixels.shape[1], height, width):
        axes.reverse()
    for axis, size in axes:
        if pixels.shape[axis] != size:
            along = taps(pixels.shape[axis], size)
            pixels = _blend(pixels, along) if axis else _blend(pixels.transpose(0, 1), along).transpose(0, 1)
    return pixels.contiguous()


def _blend(pixels: torch.Tensor, along: Taps) -> torch.Tensor:
    """One pass along the second axis: ``clip((½ + Σ weight · pixel) >> 22, 0, 255)``."""
    first, weights = (torch.from_numpy(array).to(pixels.device) for array in (along.first, along.weights))
    shape = (pixels.shape[0], len(first), pixels.shape[2])
    sums = torch.full(shape, 1 << (PRECISION_BITS - 1), dtype=torch.int32, device=pixels.device)
    for tap in range(weights.shape[1]):
        source = (first + tap).clamp(max=pixels.shape[1] - 1)  # after the end the weight is 0
        sums += pixels[:, source].int() * weights[:, tap, None]
    return (sums >> PRECISION_BITS).clamp(0, 255).to(torch.uint8)


def resize_kernel(pixels: torch.Tensor, height: int, width: int, *, launch: Launch = on_device) -> torch.Tensor:
    """`resize` by cuda/resize.cu, the same bytes."""
    in_height, in_width, _ = pixels.shape
    rows = Rows(pixels.contiguous(), in_height, in_width, in_width * 3)
    passes = [(_horizontal, width, width != in_width), (_vertical, height, height != in_height)]
    needed = [(one, size) for one, size, is_needed in passes if is_needed]
    if vertical_first(in_height, in_width, height, width):
        needed.reverse()
    for place, (one, size) in enumerate(needed, 1):
        rows = one(rows, size, place == len(needed), launch)
    return rows.bytes.view(height, width, 3)


def _empty(height: int, width: int, is_last: bool, device: torch.device) -> Rows:
    """Room for a pass: what is the answer lies tight, what another pass reads begins each row at a whole word."""
    pitch = width * 3 if is_last else -(-width * 3 // 16) * 16
    return Rows(torch.empty(height, pitch, dtype=torch.uint8, device=device), height, width, pitch)


def _is_aligned(rows: Rows) -> bool:
    return rows.pitch % 4 == 0 and rows.bytes.data_ptr() % 4 == 0


def _horizontal(rows: Rows, width: int, is_last: bool, launch: Launch) -> Rows:
    bounds, weights, span = _device_taps(rows.width, width, True, rows.bytes.device)
    shared_bytes = span * ROWS * 4
    if shared_bytes > MAX_SHARED_BYTES:
        span = shared_bytes = 0
    out = _empty(rows.height, width, is_last, rows.bytes.device)
    sizes = [ctypes.c_int32(size) for size in (rows.width, rows.height, _is_aligned(rows))]
    source: list[Argument] = [rows.bytes, ctypes.c_int64(rows.pitch), *sizes]
    target = out.bytes, ctypes.c_int64(out.pitch), ctypes.c_int32(width), ctypes.c_int32(span)
    grid = (-(-width // COLUMNS), -(-rows.height // ROWS))
    launch(Call("resize", "resize_horizontal", grid, 128, (*source, bounds, weights, *target), shared_bytes))
    return out


def _vertical(rows: Rows, height: int, is_last: bool, launch: Launch) -> Rows:
    bounds, weights, _ = _device_taps(rows.height, height, False, rows.bytes.device)
    out = _empty(height, rows.width, is_last, rows.bytes.device)
    sizes = ctypes.c_int32(rows.width * 3), ctypes.c_int32(_is_aligned(rows))
    source = rows.bytes, ctypes.c_int64(rows.pitch), *sizes
    target = ctypes.c_int32(weights.shape[1]), out.bytes, ctypes.c_int64(out.pitch), ctypes.c_int32(height)
    grid = (-(-rows.width * 3 // 128), -(-height // LINES))
    launch(Call("resize", "resize_vertical", grid, 32 * LINES, (*source, bounds, weights, *target)))
    return out


@lru_cache(maxsize=64)
def _device_taps(
    in_size: int, out_size: int, turned: bool, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """First and count `[out_size, 2]`, the weights (turned: `[taps, out_size]`), and the widest span of 32 columns."""
    found = taps(in_size, out_size)
    bounds = np.stack([found.first, found.count], axis=1)
    starts = found.first[::COLUMNS] // 4 * 4
    last = np.minimum(np.arange(COLUMNS - 1, out_size + COLUMNS - 1, COLUMNS), out_size - 1)
    span = int((found.first[last] + found.count[last] - starts).max())
    weights = np.ascontiguousarray(found.weights.T if turned else found.weights)
    return torch.from_numpy(bounds).to(device), torch.from_numpy(weights).to(device), -(-span // 4) * 4


def resize(pixels: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """The bytes of ``PIL.Image.fromarray(pixels).resize((width, height), BICUBIC)``.

    Args:
        pixels: `[in_height, in_width, 3]`, uint8.
        height: rows to reach, at least 1.
        width: columns to reach, at least 1.

    Returns:
        `[height, width, 3]`, uint8. An axis that has its length already is not touched.

    Source: Pillow `src/libImaging/Resample.c` (`ImagingResample`, 8 bits per channel).
    """
    RESIZE.check_axes(pixels=pixels)
    return (resize_kernel if kernels_run_on(pixels.device) else resize_reference)(pixels, height, width)


def _pixels(seed: int, in_height: int, in_width: int, height: int, width: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (in_height, in_width, 3), dtype=torch.uint8, generator=generator)
    return {"pixels": pixels, "height": height, "width": width}


SIZES = (
    (37, 53, 64, 96), (120, 200, 33, 41), (64, 64, 64, 32), (50, 7, 25, 7), (1, 1, 5, 9), (3, 900, 40, 2),
    (40, 2200, 20, 33), (17, 33, 17, 33), (33, 65, 70, 130), (700, 3, 2, 4), (90, 37, 40, 29),
)  # fmt: skip
"""Heights and widths, before and after: either order, one axis alone, single pixels, spans that outgrow a block."""


def _bytes_moved(pixels: torch.Tensor, height: int, width: int) -> int:
    in_height, in_width, channels = pixels.shape
    is_turned = vertical_first(in_height, in_width, height, width)
    horizontal = (height if is_turned else in_height) * (in_width + width) if width != in_width else 0
    vertical = (in_width if is_turned else width) * (in_height + height) if height != in_height else 0
    return channels * (horizontal + vertical)


RESIZE = OpSpec(
    name="resize",
    formula="out[y, x] = clip(Σ wy[y, j] · clip(Σ wx[x, i] · pixels[j, i])), each sum rounded to a byte",
    axes=(
        Axis("in_height", "pixels before"),
        Axis("in_width", "pixels before"),
        Axis("channels", "3: red, green, blue"),
        Axis("height", "pixels after"),
        Axis("width", "pixels after"),
    ),
    inputs=(TensorSpec("pixels", ("in_height", "in_width", "channels"), (torch.uint8,), "RGB"),),
    outputs=(TensorSpec("out", ("height", "width", "channels"), (torch.uint8,), "RGB, resized"),),
    reference=resize_reference,
    tolerance={torch.uint8: 0.0},
    sample=lambda seed: _pixels(seed, *SIZES[seed % len(SIZES)]),
    kernel=resize_kernel,
    bytes_moved=_bytes_moved,
    large=lambda seed: _pixels(seed, 8192, 8192, 4096, 4096),
)
