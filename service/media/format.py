"""The five formats that are decoded, told by their first bytes and by nothing else.

A name or a media type is never asked. TIFF, JPEG 2000, PSD, FITS, EPS and the rest have long records of parser faults;
AVIF is not among the five either.
"""

import re
from collections.abc import Mapping
from typing import Literal

from service.media.blame import Blame

Format = Literal["PNG", "JPEG", "WEBP", "GIF", "BMP"]
"""By Pillow's names."""

_MAGIC: Mapping[Format, re.Pattern[bytes]] = {
    "PNG": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "JPEG": re.compile(rb"\xff\xd8\xff"),
    "WEBP": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
    "GIF": re.compile(rb"GIF8[79]a"),
    "BMP": re.compile(rb"BM"),
}


def sniff(encoded: bytes, blame: Blame) -> Format:
    """Tell the format from the first bytes.

    Args:
        encoded: the bytes of a picture file.
        blame: what the error names.

    Returns:
        One of the five formats.

    Raises:
        MediaError: `media_undecodable` for anything else, SVG, TIFF and PDF among it.
    """
    kind: Format | None = next((kind for kind, magic in _MAGIC.items() if magic.match(encoded)), None)
    if kind is None:
        blame.refuse("media_undecodable", "The image is none of the accepted formats: PNG, JPEG, WebP, GIF, BMP.")
    return kind
