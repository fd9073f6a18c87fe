"""Resize rules of two-tower models: every image at one size (`SquareRule`), or as many patches as fit (`NaflexRule`).

Source: transformers 5.23 `PilBackend._preprocess` with the image processors of CLIP, SigLIP and Chinese-CLIP;
`Siglip2ImageProcessorPil`, `get_image_size_for_max_num_patches`.
"""

import math
from dataclasses import dataclass

from service.media.error_location import ErrorLocation
from service.media.item import Patches, Size
from service.media.resize.image_rule import ResizePlan
from service.media.resize.resize import FLOAT_BYTES, Framing


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareRule:
    """An `ImageRule`."""

    side: int
    """Side of the square that the model takes, pixels."""
    edge: int
    """Length of the shorter side after the resize, pixels; of both where `is_squashed`."""
    is_squashed: bool
    """The resize is to a square, whatever the shape was."""
    resample: int
    """Pillow's number of the filter."""
    patch_size: int = 0
    """Pixels along one side of a visual token; 0: the whole image is one."""

    @property
    def patches(self) -> Patches:
        """One patch, one token: the whole image, unless it has patches."""
        return Patches(self.patch_size, 1) if self.patch_size else Patches(self.side, None)

    @property
    def min_pixels(self) -> int:
        """The square's."""
        return self.side**2

    @property
    def max_pixels(self) -> int:
        """The square's."""
        return self.side**2

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers, after the rule's name."""
        numbers = (self.side, self.edge, self.is_squashed, self.resample)
        return (b"square", *(number.to_bytes(8, "little") for number in numbers))

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """The square; the header's limit on the ratio of the sides bounds the image that it is cut out of."""
        return ResizePlan((self.side, self.side), Framing((self._resized(height, width),), self.resample))

    def _resized(self, height: int, width: int) -> Size:
        """``edge`` by ``int(edge · long / short)``, or ``edge`` by ``edge``."""
        edge = self.edge
        if self.is_squashed:
            return edge, edge
        longer = int(edge * max(height, width) / min(height, width))
        return (longer, edge) if width <= height else (edge, longer)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatSquareRule(SquareRule):
    """An `ImageRule` of a square in float32, squashed as torch does it; its bytes are an image four times as wide."""

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers, after the rule's name."""
        return (b"float square", *(number.to_bytes(8, "little") for number in (self.side, self.resample)))

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """The square; nothing is done before."""
        return ResizePlan((self.side, self.side * FLOAT_BYTES), Framing((), self.resample, in_floats=True))


EPSILON = 1e-5
LEAST_SCALE, MOST_SCALE = EPSILON / 10, 100.0
"""Bounds of the search for the scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaflexRule:
    """An `ImageRule`."""

    patch_size: int = 16
    """Pixels along one side of a patch."""
    max_num_patches: int = 256
    """Most patches of an image."""
    resample: int = 2
    """Pillow's number of the filter."""

    @property
    def patches(self) -> Patches:
        """Patches of that size; one token for all of them."""
        return Patches(self.patch_size, None)

    @property
    def min_pixels(self) -> int:
        """One patch's."""
        return self.patch_size**2

    @property
    def max_pixels(self) -> int:
        """All patches'."""
        return self.max_num_patches * self.patch_size**2

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers, after the rule's name."""
        numbers = (self.patch_size, self.max_num_patches, self.resample)
        return (b"naflex", *(number.to_bytes(8, "little") for number in numbers))

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """The largest scale whose patches, both sides rounded up to whole ones, are not too many.

        None is refused: at the least scale every shape is one patch.
        """
        low, high = LEAST_SCALE, MOST_SCALE
        while high - low >= EPSILON:
            middle = (low + high) / 2
            rows, columns = self._scaled(height, width, middle)
            if (rows / self.patch_size) * (columns / self.patch_size) <= self.max_num_patches:
                low = middle
            else:
                high = middle
        size = self._scaled(height, width, low)
        return ResizePlan(size, Framing((size,), self.resample))

    def _scaled(self, height: int, width: int, scale: float) -> Size:
        patch = self.patch_size
        rows, columns = (max(patch, math.ceil(side * scale / patch) * patch) for side in (height, width))
        return rows, columns
