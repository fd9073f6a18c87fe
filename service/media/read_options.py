"""Options of reading an image file where formats leave a choice: color under transparent pixels, and orientation.

Part of an image's keys: the same file read with other options is another image.
"""

from dataclasses import dataclass
from typing import Literal

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

Background = Color | Literal["stored"]
"""The color under transparent pixels; `stored` keeps what the file holds there."""


@dataclass(frozen=True, slots=True)
class ImageReadOptions:
    """Options of reading a file; the defaults read it as the reference does.

    Attributes:
        background: what shows where an image is transparent, in every mode. None is the rule of Qwen3-VL's reference:
            white under RGBA, and the stored color in every other mode.
        upright: whether the EXIF orientation is applied. The reference embeds a photo as it is stored.
    """

    background: Background | None = None
    upright: bool = False

    @property
    def key_part(self) -> bytes:
        """Bytes that no other reading has."""
        if self.background == "stored":
            return bytes([self.upright]) + b"stored"
        color = b"" if self.background is None else bytes(self.background)
        return bytes([self.upright]) + color


AS_REFERENCE = ImageReadOptions()


def parse_color(text: str) -> Color:
    """`#rrggbb` as a color.

    Args:
        text: a number sign and six hexadecimal digits, as the schema has checked.
    """
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue
