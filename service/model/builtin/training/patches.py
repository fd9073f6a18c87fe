"""Pixels to patches: RGB bytes to the rows that the vision tower takes. Without resizing."""

import numpy as np
from numpy.typing import NDArray

from service.model.builtin.architecture import MERGE, PATCH_PIXELS

_FRAMES = 2  # a still image stands twice in its temporal patch


def patchify(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Rows `x / 127.5 - 1` of 16x16 patches, each merge block of 2x2 patches together.

    Args:
        pixels: `[images, height, width, 3]`, both sides multiples of 32.

    Returns:
        `[images * patches, 3 * 2 * 16 * 16]`, each row in the order channel, frame, y, x.

    Source: transformers `Qwen2VLImageProcessor._preprocess`.
    """
    num_images, height, width, _ = pixels.shape
    block = MERGE * PATCH_PIXELS
    shape = (num_images, height // block, MERGE, PATCH_PIXELS, width // block, MERGE, PATCH_PIXELS, 3)
    rows = (pixels.astype(np.float32) / 127.5 - 1).reshape(shape).transpose(0, 1, 4, 2, 5, 7, 3, 6)
    flat = rows.reshape(-1, 3, 1, PATCH_PIXELS * PATCH_PIXELS)
    return np.repeat(flat, _FRAMES, axis=2).reshape(len(flat), -1)
