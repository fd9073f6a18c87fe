"""What chooses the size at which a model sees a picture, from its header alone. Knows no rule.

`PixelRule` (any size within an area), `SquareRule` (one size for all) and `NaflexRule` (as many patches as may be) are
rules: frozen numbers of a family, all of them part of a picture's keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service.media.blame import Blame
from service.media.framing import Framing
from service.media.picture import Patches, Size


@dataclass(frozen=True, slots=True)
class Seen:
    """How one picture is seen.

    Attributes:
        size: height and width of its pixels.
        framing: how they are made; None for a resize to that size with Pillow's bicubic filter.
    """

    size: Size
    framing: Framing | None = None


class PictureRule(Protocol):
    """Sizes before decoding, and what they are made of."""

    @property
    def patches(self) -> Patches:
        """How the pixels are cut."""
        ...

    @property
    def min_pixels(self) -> int:
        """Least area of a picture as it is seen."""
        ...

    @property
    def max_pixels(self) -> int:
        """Largest area of a picture as it is seen."""
        ...

    @property
    def key_parts(self) -> Sequence[bytes]:
        """All numbers of the rule, as no other rule has them."""
        ...

    def see(self, height: int, width: int, blame: Blame) -> Seen:
        """Choose the size at which a picture is seen.

        Args:
            height: stored height, pixels, at least 1; of an upright picture where that is asked for.
            width: likewise.
            blame: what errors name.

        Raises:
            MediaError: `media_too_large` or `invalid_request`: the model cannot see such a shape.
        """
        ...
