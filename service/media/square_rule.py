"""Every picture at one size, a square: squashed to it, or its shorter side brought to a length and the middle taken.

Source: transformers 5.23 `PilBackend._preprocess` with the image processors of CLIP, SigLIP and Chinese-CLIP.
"""

from dataclasses import dataclass

from service.media.blame import Blame
from service.media.framing import Framing
from service.media.picture import Patches, Size
from service.media.picture_rule import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareRule:
    """A `PictureRule`."""

    side: int
    """Of the square that the model sees, pixels."""
    edge: int
    """Length of the shorter side after the resize, pixels; of both where `is_squashed`."""
    is_squashed: bool
    """Whether the resize is to a square, whatever the shape was."""
    resample: int
    """Pillow's number of the filter."""

    @property
    def patches(self) -> Patches:
        """One patch, one token: the whole picture."""
        return Patches(self.side, None)

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
        """The numbers, behind the rule's name."""
        numbers = (self.side, self.edge, self.is_squashed, self.resample)
        return (b"square", *(number.to_bytes(8, "little") for number in numbers))

    def see(self, height: int, width: int, blame: Blame) -> Seen:
        """The square; the header's limit on the ratio of the sides bounds the picture that it is cut out of."""
        return Seen((self.side, self.side), Framing(self._resized(height, width), self.resample))

    def _resized(self, height: int, width: int) -> Size:
        """``edge`` by ``int(edge · long / short)``, or ``edge`` by ``edge``."""
        edge = self.edge
        if self.is_squashed:
            return edge, edge
        longer = int(edge * max(height, width) / min(height, width))
        return (longer, edge) if width <= height else (edge, longer)
