"""The resize itself: a decoded image to the pixels that the model takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.media.item import Size
from service.media.resize.antialias import BICUBIC, resize_antialiased, resize_in_floats

FLOAT_BYTES = 4
BYTES_PER_PIXEL = 7
"""Memory of a resized image: Pillow keeps four bytes for a color, and numpy's copy takes three."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How one image's pixels are made."""

    sizes: tuple[Size, ...]
    """Height and width of the whole image after each of its resizes, one after the other, pixels."""
    resample: int = BICUBIC
    """Pillow's number of the filter."""
    is_antialiased: bool = False
    """The result is resized again, as torch does, and nothing of it left out: a video's frame."""
    in_floats: bool = False
    """Likewise, to numbers of four bytes that are not rounded: a row is four times as many bytes."""


def frame(image: Image.Image, framing: Framing, size: Size) -> NDArray[np.uint8]:
    """Resize, then take the middle (a side that is too short lies amid black), or resize again as torch does.

    Source: transformers 5.23 `PilBackend.resize` and `image_transforms.center_crop`; qwen-vl-utils 0.0.14,
    `fetch_image`: `image.resize((width, height))`, whose default filter is bicubic.
    """
    for height, width in framing.sizes:
        image = image.resize((width, height), Image.Resampling(framing.resample))
    resized = np.asarray(image, dtype=np.uint8)
    if framing.in_floats:
        height, width = size[0], size[1] // FLOAT_BYTES
        return resize_in_floats(resized, (height, width), framing.resample).view(np.uint8).reshape(*size, 3)
    if framing.is_antialiased:
        return np.ascontiguousarray(resize_antialiased(resized, size))
    height, width = framing.sizes[-1]
    if (height, width) == size:
        return np.ascontiguousarray(resized)
    pixels = np.zeros((*size, 3), np.uint8)
    (from_y, to_y), (from_x, to_x) = _middle(height, size[0]), _middle(width, size[1])
    pixels[to_y, to_x] = resized[from_y, from_x]
    return pixels


def by_pillow(pixels: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
    """A video's frame, RGB `[height, width, 3]`, resized by Pillow's bicubic filter."""
    return frame(Image.fromarray(pixels), Framing((size,)), size)


def _middle(length: int, wanted: int) -> tuple[slice, slice]:
    """One side of the crop: source and target slices. An odd rest is cut at the end, and padded at the start."""
    if length >= wanted:
        start = (length - wanted) // 2
        return slice(start, start + wanted), slice(0, wanted)
    start = -(-(wanted - length) // 2)
    return slice(0, length), slice(start, start + length)
