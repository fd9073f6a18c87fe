"""A frame as a player shows it: with square pixels, turned and mirrored by its display matrix.

PyAV gives frames as they are stored.

Source: ISO/IEC 14496-12 section 8.3.2 (`matrix`), RFC 9559 section 5.1.4.1.28 (`Projection`), Rec. ITU-T H.264 annex D
(display orientation); FFmpeg brings them to one form, `AV_FRAME_DATA_DISPLAYMATRIX`.
"""

from fractions import Fraction

import numpy as np
from av.sidedata.sidedata import SideData, SideDataContainer
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from service.media.item import Size
from service.media.resize.antialias import resize_antialiased

SQUARE = Fraction(1)
"""Width of a pixel over its height."""

_MATRIX = "DISPLAYMATRIX"


def shown_size(frame: VideoFrame, pixel_shape: Fraction) -> Size:
    """Height and width at which a frame is shown."""
    height, width = _square_size(frame, pixel_shape)
    return (width, height) if _is_on_its_side(*_matrix(frame)) else (height, width)


def shown_pixels(frame: VideoFrame, pixel_shape: Fraction) -> NDArray[np.uint8]:
    """The pixels of a frame: ``x' = a·x + c·y``, ``y' = b·x + d·y``, to the nearest quarter turn.

    Returns:
        RGB, uint8 [height, width, 3], of `shown_size`.
    """
    pixels = np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
    pixels = resize_antialiased(pixels, _square_size(frame, pixel_shape))
    a, b, c, d = _matrix(frame)
    if _is_on_its_side(a, b, c, d):
        pixels, a, d = pixels.swapaxes(0, 1), c, b
    if a < 0:
        pixels = pixels[:, ::-1]
    if d < 0:
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def _square_size(frame: VideoFrame, pixel_shape: Fraction) -> Size:
    """Height and width with square pixels, as browsers choose it: one side is made longer, and none shorter."""
    return round(frame.height * max(1 / pixel_shape, SQUARE)), round(frame.width * max(pixel_shape, SQUARE))


def _matrix(frame: VideoFrame) -> tuple[int, int, int, int]:
    # A frame and its own `side_data` refer to each other: only the garbage collector would free their memory.
    matrix = SideDataContainer(frame).get(_MATRIX)  # type: ignore[call-arg]
    if not isinstance(matrix, SideData):
        return 1, 0, 0, 1
    a, b, _, c, d = np.frombuffer(bytes(matrix), np.int32)[:5].tolist()
    return a, b, c, d


def _is_on_its_side(a: int, b: int, c: int, d: int) -> bool:
    return abs(b) + abs(c) > abs(a) + abs(d)
