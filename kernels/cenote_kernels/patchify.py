"""Pixels of a still image to normalized patches, in merge order, each once: the temporal axis is left out."""

import ctypes
from typing import Any

import torch

from cenote_kernels.availability import kernels_run_on
from cenote_kernels.launch import Call, Launch, on_device
from cenote_kernels.ops import Axis, OpSpec, TensorSpec

PATCH = 16
MERGE = 2
CHANNELS = 3
TILE = 8
"""Patches of a block; as in patchify.cu."""

NAMES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def patchify_reference(pixels: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """``x / 127.5 - 1``, cut into 16 × 16 patches that walk 2 × 2 merge blocks; see `patchify`."""
    height, width, channels = pixels.shape
    rows, columns = height // (PATCH * MERGE), width // (PATCH * MERGE)
    blocks = pixels.view(rows, MERGE, PATCH, columns, MERGE, PATCH, channels)
    walked = blocks.permute(0, 3, 1, 4, 6, 2, 5)  # block row, block column, row, column, channel, y, x
    patches = walked.to(torch.float32, memory_format=torch.contiguous_format)
    return patches.view(-1, channels * PATCH * PATCH).div_(127.5).sub_(1).to(dtype)


def patchify_kernel(
    pixels: torch.Tensor, dtype: torch.dtype = torch.float32, *, launch: Launch = on_device
) -> torch.Tensor:
    """`patchify` by cuda/patchify.cu, the same bits."""
    height, width, _ = pixels.shape
    pixels = pixels.contiguous()
    if pixels.data_ptr() % 16:
        pixels = pixels.clone()
    rows, columns = height // PATCH, width // PATCH
    patches = torch.empty(rows * columns, CHANNELS * PATCH * PATCH, dtype=dtype, device=pixels.device)
    grid = (-(-columns // TILE), rows)
    launch(Call("patchify", f"patchify_{NAMES[dtype]}", grid, 128, (pixels, patches, ctypes.c_int32(width))))
    return patches


def patchify(pixels: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """``x / 127.5 - 1``, cut into 16 × 16 patches that walk 2 × 2 merge blocks.

    Args:
        pixels: `[height, width, 3]`, uint8; both sides multiples of 32.
        dtype: of the patches; computed in float32, then rounded.

    Returns:
        `[height / 16 · width / 16, 768]`; a row is channel × patch row × patch column, and rows go by (block row, block
        column, row in block, column in block). The patch projection of a still image takes it with the sum of its
        two temporal halves.

    Raises:
        ValueError: a side is not a multiple of 32, or the pixels are not RGB of uint8.

    Source: transformers `Qwen2VLImageProcessor._preprocess`, without its `temporal_patch_size` copies.
    """
    PATCHIFY.check_axes(pixels=pixels)
    if pixels.shape[0] % (PATCH * MERGE) or pixels.shape[1] % (PATCH * MERGE) or pixels.shape[2] != CHANNELS:
        raise ValueError(f"patchify: pixels are {list(pixels.shape)}, expected multiples of {PATCH * MERGE} and 3")
    return (patchify_kernel if kernels_run_on(pixels.device) else patchify_reference)(pixels, dtype)


def _pixels(seed: int, height: int, width: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (height, width, CHANNELS), dtype=torch.uint8, generator=generator)
    return {"pixels": pixels, "dtype": tuple(NAMES)[seed % len(NAMES)]}


def _sample(seed: int) -> dict[str, Any]:
    """Tiles that are full, that are cut, and an image narrower than one."""
    return _pixels(seed, 32 * (1 + seed % 4), (320, 256, 32, 96)[seed % 4])


def _bytes_moved(pixels: torch.Tensor, dtype: torch.dtype = torch.float32) -> int:
    return pixels.numel() * (1 + dtype.itemsize)


PATCHIFY = OpSpec(
    name="patchify",
    formula="out[patch, c, y, x] = pixels[row(patch) + y, column(patch) + x, c] / 127.5 - 1",
    axes=(
        Axis("height", "pixels, a multiple of 32"),
        Axis("width", "pixels, a multiple of 32"),
        Axis("channels", "3: red, green, blue"),
        Axis("num_patches", "height / 16 · width / 16"),
        Axis("patch_size", "3 · 16 · 16"),
    ),
    inputs=(TensorSpec("pixels", ("height", "width", "channels"), (torch.uint8,), "RGB"),),
    outputs=(TensorSpec("out", ("num_patches", "patch_size"), tuple(NAMES), "normalized patches in merge order"),),
    reference=patchify_reference,
    tolerance=dict.fromkeys(NAMES, 0.0),
    sample=_sample,
    kernel=patchify_kernel,
    bytes_moved=_bytes_moved,
    large=lambda seed: {**_pixels(seed, 8192, 8192), "dtype": torch.bfloat16},
)
