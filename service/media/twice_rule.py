"""Two resizes one behind the other, as embedders do that resize a picture themselves and then hand it to a processor.

Only a picture that the second limits change is resized twice: the second leaves alone what is within them already.

Source: GME's `fetch_image` before its processor; `qwen_vl_utils` was written so.
"""

from dataclasses import dataclass

from service.media.blame import Blame
from service.media.framing import Framing
from service.media.picture import Patches
from service.media.picture_rule import Seen
from service.media.resize import PixelRule

BICUBIC = 3
"""Pillow's number of the filter, of both resizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwiceRule:
    """A `PictureRule`."""

    first: PixelRule
    """Of the embedder's own resize."""
    then: PixelRule
    """Of the processor's, which sees what the first gave."""

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
        """The numbers of both, behind the rule's name."""
        return (b"twice", *self.first.key_parts, *self.then.key_parts)

    def see(self, height: int, width: int, blame: Blame) -> Seen:
        """The second's size of the first's size."""
        first = self.first.see(height, width, blame).size
        size = self.then.see(*first, blame).size
        return Seen(size) if first == size else Seen(size, Framing(size, BICUBIC, first))
