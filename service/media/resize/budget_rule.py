"""Resize rule of towers that pool patches: the largest size of an image's shape whose visual tokens are not too many.

Source: transformers 5.24 `Gemma4ImageProcessorPil`, `get_aspect_ratio_preserving_size`.
"""

import math
from dataclasses import dataclass

from service.media.error_location import ErrorLocation
from service.media.item import Patches, Size
from service.media.resize.antialias import BICUBIC
from service.media.resize.image_rule import ResizePlan
from service.media.resize.resize import Framing


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRule:
    """An `ImageRule`."""

    patch_size: int = 16
    """Pixels along one side of a patch."""
    pooling: int = 3
    """Patches along one side of a visual token."""
    max_tokens: int = 280
    """Most visual tokens of an image."""
    resample: int = BICUBIC
    """Pillow's number of the filter."""

    @property
    def patches(self) -> Patches:
        """As many patches to the token as are pooled."""
        return Patches(self.patch_size, self.pooling)

    @property
    def min_pixels(self) -> int:
        """One visual token's."""
        return (self.patch_size * self.pooling) ** 2

    @property
    def max_pixels(self) -> int:
        """All visual tokens'."""
        return self.max_tokens * self.min_pixels

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers, after the rule's name."""
        numbers = (self.patch_size, self.pooling, self.max_tokens, self.resample)
        return (b"budget", *(number.to_bytes(8, "little") for number in numbers))

    def size(self, height: int, width: int) -> Size:
        """``floor(f · side / unit) · unit`` of both sides, with f² = max_pixels / (h w); a unit is a token's side.

        A side of 0 becomes one unit, and the other as many as it is longer, within the budget.
        """
        unit = self.patch_size * self.pooling
        factor = math.sqrt(self.max_pixels / (height * width))
        rows, columns = (math.floor(factor * side / unit) for side in (height, width))
        if not rows:
            return unit, min(width // height, self.max_tokens) * unit
        if not columns:
            return min(height // width, self.max_tokens) * unit, unit
        return rows * unit, columns * unit

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """That size by one resize; no shape is refused."""
        size = self.size(height, width)
        return ResizePlan(size, Framing((size,), self.resample))
