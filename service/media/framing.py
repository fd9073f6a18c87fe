"""How a model's pixels are made of a decoded picture: the whole of it resized, then its middle taken.

In: an RGB picture. Out: uint8 pixels. Does not choose sizes: a picture rule does, before anything is decoded.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.media.antialias import resize_antialiased
from service.media.picture import Size

BYTES_PER_PIXEL = 7
"""Of a resized picture: Pillow keeps four for a color, and numpy's copy takes three."""


@dataclass(frozen=True, slots=True)
class Framing:
    """One picture's numbers.

    Attributes:
        resized: height and width of the whole picture after its resize, pixels.
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
        """Memory that the resized pictures take, beside what decoding took."""
        return sum(height * width * BYTES_PER_PIXEL for height, width in (self.resized, self.first or (0, 0)))


def frame(picture: Image.Image, framing: Framing, size: Size) -> NDArray[np.uint8]:
    """Resize, then take the middle (a side that is too short lies amid black), or resize again as torch does.

    Args:
        picture: RGB.
        framing: size and filter of the resize.
        size: height and width of the result.

    Returns:
        Pixels, uint8 [height, width, 3], C order.

    Source: transformers 5.23 `PilBackend.resize` and `image_transforms.center_crop`.
    """
    if framing.first is not None:
        rows, columns = framing.first
        picture = picture.resize((columns, rows), Image.Resampling(framing.resample))
    height, width = framing.resized
    resized = np.asarray(picture.resize((width, height), Image.Resampling(framing.resample)), dtype=np.uint8)
    if framing.is_antialiased:
        return np.ascontiguousarray(resize_antialiased(resized, size))
    if framing.resized == size:
        return np.ascontiguousarray(resized)
    pixels = np.zeros((*size, 3), np.uint8)
    (from_y, to_y), (from_x, to_x) = _middle(height, size[0]), _middle(width, size[1])
    pixels[to_y, to_x] = resized[from_y, from_x]
    return pixels


def _middle(length: int, wanted: int) -> tuple[slice, slice]:
    """Of one side: what is taken, and where it is put. An odd rest is left over behind, and filled up in front."""
    if length >= wanted:
        start = (length - wanted) // 2
        return slice(start, start + wanted), slice(0, wanted)
    start = -(-(wanted - length) // 2)
    return slice(0, length), slice(start, start + length)
