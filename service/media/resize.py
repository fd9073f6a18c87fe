"""The size at which a model sees a picture, and the picture at that size.

In: height and width, or an RGB picture. Out: a size in whole visual tokens, or uint8 pixels of that size.
Does not know which model asks: the rule's numbers come from its profile.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.media.blame import Blame
from service.media.picture import MERGE_SIZE, Patches
from service.media.picture import Size as Size
from service.media.picture_rule import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelRule:
    """The numbers of the resize rule, a `PictureRule`. All of them are part of a picture's cache key.

    Source: reference/qwen3-vl-embedding.md sections 2.1 and 3.1.
    """

    factor: int = 32
    """Both sides are multiples of this: one visual token covers factor x factor pixels."""
    min_pixels: int = 4_096
    """A smaller picture is enlarged to at least this area."""
    max_pixels: int = 1_843_200
    """A larger picture is shrunk to at most this area: 1,800 visual tokens."""
    max_aspect: int = 200
    """Largest ratio of the longer to the shorter side."""
    raises_late: bool = False
    """A side that rounds to 0 is raised to the factor after the area is looked at, as transformers has it, and not
    before, as qwen-vl-utils has it: a sliver of 14 x 1000 pixels becomes 28 x 476, and not 28 x 1008."""

    @property
    def patches(self) -> Patches:
        """Four patches to the token."""
        return Patches(self.factor // MERGE_SIZE, MERGE_SIZE)

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The four numbers; and behind them, which of the two forms it is, where it is the later one."""
        numbers = (self.factor, self.min_pixels, self.max_pixels, self.max_aspect)
        return (*(number.to_bytes(8, "little") for number in numbers), *((b"late",) if self.raises_late else ()))

    def see(self, height: int, width: int, blame: Blame) -> Seen:
        """See `fit`."""
        return Seen(fit(height, width, self, param=blame.param, index=blame.index))


def fit(height: int, width: int, rule: PixelRule, *, param: str | None = None, index: int | None = None) -> Size:
    """Choose the size at which a picture is seen.

    Each side is rounded to a multiple f of the factor, halves to even and never below f. An area above the maximum then
    gives floor(side / b / f) * f with b = sqrt(h w / max), one below the minimum ceil(side * b / f) * f with
    b = sqrt(min / (h w)). By `raises_late` a side is 0 at first, its area below any minimum, and f at last.

    Args:
        height: stored height, pixels, at least 1.
        width: stored width, pixels, at least 1.
        rule: the numbers.
        param: path of the field, for the error.
        index: input of the batch, for the error.

    Returns:
        Height and width, multiples of the factor.

    Raises:
        MediaError: `media_too_large` for an extreme ratio, `invalid_request` when `max_pixels` leaves a side of 0.

    Source: qwen-vl-utils 0.0.14 and transformers 5.23, `smart_resize`.
    """
    if max(height, width) > rule.max_aspect * min(height, width):
        message = f"The image is {width} x {height} pixels; one side may be at most {rule.max_aspect} times the other."
        Blame(param, index).refuse("media_too_large", message)
    fitted = fit_area(height, width, rule.factor, rule.min_pixels, rule.max_pixels, raises_late=rule.raises_late)
    if 0 in fitted:
        _refuse_empty_side(height, width, rule, Blame(param, index))
    return fitted


def fit_area(
    height: int, width: int, factor: int, min_pixels: float, max_pixels: float, *, raises_late: bool = False
) -> Size:
    """The formula of `fit`, whatever the shape: an extreme one may leave a side of 0.

    Args:
        height: at least 1.
        width: at least 1.
        factor: both sides become multiples of it.
        min_pixels: least area.
        max_pixels: largest area; a share of a video's need not be a whole number.
        raises_late: of `PixelRule`; no side is then 0.
    """
    before, after = (0, factor) if raises_late else (factor, 0)
    fitted = max(before, round(height / factor) * factor), max(before, round(width / factor) * factor)
    if fitted[0] * fitted[1] > max_pixels:
        scale = math.sqrt(height * width / max_pixels)
        rows, columns = (math.floor(side / scale / factor) * factor for side in (height, width))
        return max(after, rows), max(after, columns)
    if fitted[0] * fitted[1] < min_pixels:
        scale = math.sqrt(min_pixels / (height * width))
        return math.ceil(height * scale / factor) * factor, math.ceil(width * scale / factor) * factor
    return fitted


def _refuse_empty_side(height: int, width: int, rule: PixelRule, blame: Blame) -> None:
    blame.refuse(
        "invalid_request",
        f"The image is {width} x {height} pixels, and at most {rule.max_pixels} pixels would leave it a side shorter "
        f"than the smallest, {rule.factor}: allow more pixels or send a less extreme shape.",
    )


def resize(image: Image.Image, size: Size) -> NDArray[np.uint8]:
    """Resize with Pillow's bicubic filter on uint8, as the reference does; a no-op when the size already matches.

    Args:
        image: an RGB picture.
        size: height and width to reach.

    Returns:
        Pixels, uint8 [height, width, 3].

    Source: qwen-vl-utils 0.0.14, `fetch_image`: `image.resize((width, height))`, whose default filter is bicubic.
    """
    height, width = size
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC), dtype=np.uint8)
