"""Format and size of an image, read and checked before a pixel is decoded.

In: the bytes of an image file, and limits. Out: format, width and height, or an error that names both numbers.
Does not decode and lets no library see the file: that happens in `decode`, in a process of its own where decoders are
isolated. The five accepted formats are recognized by their first bytes; file names and media types are ignored. TIFF,
JPEG 2000, PSD, FITS, EPS and AVIF are refused: their parsers have long records of vulnerabilities. Decoders allocate
what a header asks for, some of them on opening, so headers are checked here first.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from service.media.error_location import NO_LOCATION, ErrorLocation
from service.media.image.orientation import AS_STORED, read_orientation
from service.media.image.parts import Parts, TooManyPartsError, bmp_parts, gif_parts, jpeg_parts, png_parts, webp_parts

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

UNREADABLE = "The image cannot be decoded: the file is damaged, cut short, or not the format its first bytes announce."
"""The one sentence for every failure inside the decoder. The library's own text never leaves the process."""


DECODE_BYTES_PER_PIXEL: Mapping[Format, int] = {"PNG": 14, "JPEG": 13, "WEBP": 16, "GIF": 11, "BMP": 9}
"""Memory of a decode at its peak, by the worst mode of each format.

Pillow keeps 4 bytes for a pixel of any color mode, a copy in RGB beside it, progressive JPEG its coefficients, WebP's
decoder two canvases. Measured with Pillow 13.0.0 at 9 million pixels; the tests measure again.
"""

USUAL_SCANS = 15
"""Most scans that encoders of progressive JPEG write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeLimits:
    """Limits checked before decoding, since a file of 2 kB can declare gigabytes of pixels.

    Source: docs/notes/security.md.
    """

    max_pixels: int = 33_200_000
    """Largest width times height: 8K video, or a little more than any phone's default."""
    max_side: int = 16_384
    """Largest width or height, pixels."""
    max_aspect: int = 200
    """Largest ratio of the longer to the shorter side; the reference refuses more."""
    max_encoded_bytes: int = 20 * 1024 * 1024
    """Largest file."""
    max_decode_bytes: int = 512 << 20
    """Most memory that decoding one image may take: all that there is for all that are decoded at once."""


@dataclass(frozen=True, slots=True)
class Header:
    """Facts that a file declares about itself.

    Attributes:
        format: which decoder will read it, from the first bytes and never from a name or a media type.
        width: pixels, as stored: an EXIF orientation is not applied.
        height: pixels, as stored.
        orientation: how an upright image lies in the file, 1 to 8; 1 where that is not to be applied.
        num_scans: how often a decoder goes over its pixels.
    """

    format: Format
    width: int
    height: int
    orientation: int = AS_STORED
    num_scans: int = field(default=1, compare=False)

    @property
    def upright_size(self) -> tuple[int, int]:
        """Height and width once it is turned, which from 5 on is by a quarter."""
        return (self.width, self.height) if self.orientation >= 5 else (self.height, self.width)

    @property
    def num_decode_bytes(self) -> int:
        """Memory that decoding takes at its peak."""
        return self.width * self.height * DECODE_BYTES_PER_PIXEL[self.format]


def read_header(
    encoded: bytes, limits: DecodeLimits, location: ErrorLocation = NO_LOCATION, *, upright: bool = False
) -> Header:
    """Sniff the format, read the size, refuse what is too large; decode nothing.

    Returns:
        The header; width and height are at least 1 and within the limits.

    Source: docs/notes/security.md.
    """
    if len(encoded) > limits.max_encoded_bytes:
        message = f"The image file has {len(encoded)} bytes; at most {limits.max_encoded_bytes} are accepted."
        location.refuse("media_too_large", message)
    kind: Format | None = next((kind for kind, magic in MAGIC.items() if magic.match(encoded)), None)
    if kind is None:  # SVG, TIFF and PDF among them
        location.refuse("media_undecodable", "The image is none of the accepted formats: PNG, JPEG, WebP, GIF, BMP.")
    try:
        parts = walk(encoded, kind)
    except TooManyPartsError as error:
        location.refuse("media_too_large", str(error))
    if parts is None:
        location.refuse("media_undecodable", UNREADABLE)
    _check_size(*parts.size, limits, location)
    orientation = read_orientation(encoded[slice(*parts.exif)]) if upright else AS_STORED
    header = Header(kind, *parts.size, orientation, parts.num_scans)
    if header.num_decode_bytes > limits.max_decode_bytes:
        needed, given = header.num_decode_bytes, limits.max_decode_bytes
        location.refuse("media_too_large", f"The image takes {needed} bytes to decode; at most {given} are given.")
    return header


def _check_size(width: int, height: int, limits: DecodeLimits, location: ErrorLocation) -> None:
    if width < 1 or height < 1:
        location.refuse("media_undecodable", f"The image is {width} x {height} pixels; it needs at least 1 x 1.")
    shape = f"The image is {width} x {height} pixels"
    if max(width, height) > limits.max_side:
        location.refuse("media_too_large", f"{shape}; a side may have at most {limits.max_side}.")
    if width * height > limits.max_pixels:
        location.refuse(
            "media_too_large", f"{shape}, {width * height} in all; at most {limits.max_pixels} are accepted."
        )
    if max(width, height) > limits.max_aspect * min(width, height):
        ratio = max(width, height) / min(width, height)
        location.refuse(
            "media_too_large", f"{shape}, sides of ratio {ratio:.1f}; at most {limits.max_aspect} is accepted."
        )


def walk(encoded: bytes, kind: Format) -> Parts | None:
    """The parts of a file; None when it ends before its size or says something else there."""
    try:
        return _WALKS[kind](encoded)
    except IndexError:  # the file ends here
        return None


def needed_bytes(encoded: bytes, kind: Format) -> bytes:
    """The file without what no pixel depends on: comments, profiles, texts, thumbnails, fill bytes.

    So a decoder's parser sees no more than the walk has counted, and both see the same.

    Raises:
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
