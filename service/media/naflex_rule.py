"""The shape of a picture kept as well as whole patches allow, and as many of them as may be.

Source: transformers 5.23 `Siglip2ImageProcessorPil`, `get_image_size_for_max_num_patches`.
"""

import math
from dataclasses import dataclass

from service.media.blame import Blame
from service.media.framing import Framing
from service.media.picture import Patches, Size
from service.media.picture_rule import Seen

EPSILON = 1e-5
LEAST_SCALE, MOST_SCALE = EPSILON / 10, 100.0
"""Where the search for the scale begins and ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaflexRule:
    """A `PictureRule`."""

    patch_size: int = 16
    """Pixels along one side of a patch."""
    max_num_patches: int = 256
    """Most patches of a picture."""
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
        """The numbers, behind the rule's name."""
        numbers = (self.patch_size, self.max_num_patches, self.resample)
        return (b"naflex", *(number.to_bytes(8, "little") for number in numbers))

    def see(self, height: int, width: int, blame: Blame) -> Seen:
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
        return Seen(size, Framing(size, self.resample))

    def _scaled(self, height: int, width: int, scale: float) -> Size:
        patch = self.patch_size
        rows, columns = (max(patch, math.ceil(side * scale / patch) * patch) for side in (height, width))
        return rows, columns
