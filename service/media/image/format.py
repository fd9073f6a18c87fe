"""The five accepted image formats: recognized by their first bytes, and split into parts before any decoder sees them.

File names and media types are ignored. TIFF, JPEG 2000, PSD, FITS, EPS and AVIF are refused: their parsers have long
records of vulnerabilities. Decoders allocate what a header asks for, some of them on opening, so headers are checked
here first.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal

from service.media.image.jpeg import jpeg_parts
from service.media.image.parts import Parts
from service.media.image.png_gif_webp_bmp import bmp_parts, gif_parts, png_parts, webp_parts

Format = Literal["PNG", "JPEG", "WEBP", "GIF", "BMP"]
"""By Pillow's names."""

MAGIC: Mapping[Format, re.Pattern[bytes]] = {
    "PNG": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "JPEG": re.compile(rb"\xff\xd8\xff"),
    "WEBP": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
    "GIF": re.compile(rb"GIF8[79]a"),
    "BMP": re.compile(rb"BM"),
}
"""The first bytes of each format."""


def walk(encoded: bytes, kind: Format) -> Parts | None:
    """The parts of a file.

    Returns:
        None when the file ends before its size or says something else there.

    Raises:
        TooManyPartsError: it has more of something than is accepted.
    """
    try:
        return _WALKS[kind](encoded)
    except IndexError:  # the file ends here
        return None


def needed_bytes(encoded: bytes, kind: Format) -> bytes:
    """The file without what no pixel depends on: comments, profiles, texts, thumbnails, fill bytes.

    So a decoder's parser sees no more than the walk has counted, and both see the same.

    Raises:
        TooManyPartsError: as for `walk`.
        ValueError: the walk found nothing.
    """
    parts = walk(encoded, kind)
    if parts is None:
        raise ValueError
    if parts.needed == ((0, len(encoded)),):
        return encoded
    return b"".join(encoded[start:stop] for start, stop in parts.needed)


_WALKS: Mapping[Format, Callable[[bytes], Parts | None]] = {
    "PNG": png_parts,
    "JPEG": jpeg_parts,
    "WEBP": webp_parts,
    "GIF": gif_parts,
    "BMP": bmp_parts,
}
