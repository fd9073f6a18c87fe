"""Resize rules: the size at which a model takes an image, chosen from its header alone.

A rule is a family's frozen numbers, all of them part of an image's keys. `PixelRule` and `TwoStepRule` are here;
`SquareRule` and `NaflexRule` in `tower_rule.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service.media.error_location import ErrorLocation
from service.media.item import MERGE_SIZE, Patches, Size
from service.media.resize.resize import Framing


@dataclass(frozen=True, slots=True)
class ResizePlan:
    """The size of one image, and how its pixels are made."""

    size: Size
    framing: Framing


class ImageRule(Protocol):
    """Sizes before decoding, and what they are made of."""

    @property
    def patches(self) -> Patches:
        """Patch and token sizes of the model."""
        ...

    @property
    def min_pixels(self) -> int:
        """Least area of an image as it is seen."""
        ...

    @property
    def max_pixels(self) -> int:
        """Largest area of an image as it is seen."""
        ...

    @property
    def key_parts(self) -> Sequence[bytes]:
        """All numbers of the rule, as no other rule has them."""
        ...

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """Choose the size at which an image is seen.

        Args:
            height: stored height, pixels, at least 1; of an upright image where that is asked for.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelRule:
    """The numbers of the resize rule, an `ImageRule`. All of them are part of an image's cache key.

    Source: docs/notes/qwen3-vl-embedding.md.
    """

    factor: int = 32
    """Both sides are multiples of this: one visual token covers factor x factor pixels."""
    min_pixels: int = 4_096
    """A smaller image is enlarged to at least this area."""
    max_pixels: int = 1_843_200
    """A larger image is shrunk to at most this area: 1,800 visual tokens."""
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
        """The four numbers; and after them, which of the two forms it is, where it is the later one."""
        numbers = (self.factor, self.min_pixels, self.max_pixels, self.max_aspect)
        return (*(number.to_bytes(8, "little") for number in numbers), *((b"late",) if self.raises_late else ()))

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """Choose a size whose sides are multiples of the factor, by `fit_area`.

        Source: qwen-vl-utils 0.0.14 and transformers 5.23, `smart_resize`.
        """
        shape = f"The image is {width} x {height} pixels"
        if max(height, width) > self.max_aspect * min(height, width):
            location.refuse("media_too_large", f"{shape}; one side may be at most {self.max_aspect} times the other.")
        size = fit_area(height, width, self.factor, self.min_pixels, self.max_pixels, raises_late=self.raises_late)
        if 0 in size:
            location.refuse(
                "invalid_request",
                f"{shape}, and at most {self.max_pixels} pixels would leave it a side shorter than the smallest, "
                f"{self.factor}: allow more pixels or send a less extreme shape.",
            )
        return ResizePlan(size, Framing((size,)))


def fit_area(
    height: int, width: int, factor: int, min_pixels: float, max_pixels: float, *, raises_late: bool = False
) -> Size:
    """Fit an image into an area: height and width, multiples of the factor. An extreme shape may leave a side of 0.

    Each side is rounded to a multiple f of the factor, halves to even and never below f. An area above the maximum then
    gives floor(side / b / f) * f with b = sqrt(h w / max), one below the minimum ceil(side * b / f) * f with
    b = sqrt(min / (h w)). By `raises_late` a side is 0 at first, its area below any minimum, and f at last.

    Args:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStepRule:
    """An `ImageRule` of two resizes."""

    first: PixelRule
    """The embedder's own resize."""
    then: PixelRule
    """The processor's resize, of what the first gave."""

    @property
    def patches(self) -> Patches:
        """The second's."""
        return self.then.patches

    @property
    def min_pixels(self) -> int:
        """The second's."""
        return self.then.min_pixels

    @property
    def max_pixels(self) -> int:
        """The second's."""
        return self.then.max_pixels

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers of both, after the rule's name."""
        return (b"twice", *self.first.key_parts, *self.then.key_parts)

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """The second's size of the first's size."""
        first = self.first.plan(height, width, location).size
        size = self.then.plan(*first, location).size
        return ResizePlan(size, Framing((size,) if first == size else (first, size)))
