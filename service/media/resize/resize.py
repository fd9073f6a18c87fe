"""The resize itself: a decoded image to the pixels that the model takes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.media.item import Size
from service.media.resize.antialias import resize_antialiased

BICUBIC = 3
"""Pillow's number of the filter of Qwen3-VL's resizes."""

BYTES_PER_PIXEL = 7
"""Memory of a resized image: Pillow keeps four bytes for a color, and numpy's copy takes three."""


@dataclass(frozen=True, slots=True)
class Framing:
    """One image's numbers.

    Attributes:
        resized: height and width of the whole image after its resize, pixels.
        resample: Pillow's number of the filter.
        first: height and width of a resize before that, with the same filter; None: there is none.
        is_antialiased: what comes of that is resized again, as torch does, and nothing of it left out: a video's frame.
    """

    resized: Size
    resample: int
    first: Size | None = None
    is_antialiased: bool = False

    @property
    def num_bytes(self) -> int:
        """Memory that the resized images take, beside what decoding took."""
        return sum(height * width * BYTES_PER_PIXEL for height, width in (self.resized, self.first or (0, 0)))


def frame(image: Image.Image, framing: Framing, size: Size) -> NDArray[np.uint8]:
    """Resize, then take the middle (a side that is too short lies amid black), or resize again as torch does.

    Source: transformers 5.23 `PilBackend.resize` and `image_transforms.center_crop`.
    """
    if framing.first is not None:
        rows, columns = framing.first
        image = image.resize((columns, rows), Image.Resampling(framing.resample))
    height, width = framing.resized
    resized = np.asarray(image.resize((width, height), Image.Resampling(framing.resample)), dtype=np.uint8)
    if framing.is_antialiased:
        return np.ascontiguousarray(resize_antialiased(resized, size))
    if framing.resized == size:
        return np.ascontiguousarray(resized)
    pixels = np.zeros((*size, 3), np.uint8)
    (from_y, to_y), (from_x, to_x) = _middle(height, size[0]), _middle(width, size[1])
    pixels[to_y, to_x] = resized[from_y, from_x]
    return pixels


def _middle(length: int, wanted: int) -> tuple[slice, slice]:
    """One side of the crop: source and target slices. An odd rest is cut at the end, and padded at the start."""
    if length >= wanted:
        start = (length - wanted) // 2
        return slice(start, start + wanted), slice(0, wanted)
    start = -(-(wanted - length) // 2)
    return slice(0, length), slice(start, start + length)


def resize(image: Image.Image, size: Size) -> NDArray[np.uint8]:
    """Resize with Pillow's bicubic filter on uint8, as the reference does; a no-op when the size already matches.

    Source: qwen-vl-utils 0.0.14, `fetch_image`: `image.resize((width, height))`, whose default filter is bicubic.
    """
    height, width = size
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC), dtype=np.uint8)
