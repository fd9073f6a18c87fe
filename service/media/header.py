"""What a picture says it is, read before a single pixel is decoded.

In: the bytes of a picture file, and limits. Out: format, width and height, or an error that names both numbers.
Does not decode, and does not know what happens to the picture afterwards.
"""

import io
import re
from dataclasses import dataclass
from typing import Literal

from PIL import BmpImagePlugin, GifImagePlugin, Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin
from PIL.ImageFile import ImageFile

from service.media.blame import Blame

Format = Literal["PNG", "JPEG", "WEBP", "GIF", "BMP"]
"""The formats that are decoded. TIFF, JPEG 2000, PSD, FITS, EPS and the rest have long records of parser faults."""


class _PlainJpeg(JpegImagePlugin.JpegImageFile):
    """Pillow's JPEG without its EXIF reader.

    Opening a JPEG parses its EXIF for a resolution that nobody here asks for: a second parser for strangers' bytes,
    which warns on stderr about damaged tags.
    """

    def getexif(self) -> Image.Exif:
        return Image.Exif()


_MAGIC: dict[Format, re.Pattern[bytes]] = {
    "PNG": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "JPEG": re.compile(rb"\xff\xd8\xff"),
    "WEBP": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
    "GIF": re.compile(rb"GIF8[79]a"),
    "BMP": re.compile(rb"BM"),
}
_PLUGINS: dict[Format, type[ImageFile]] = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": _PlainJpeg,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
}
UNREADABLE = "The image cannot be decoded: the file is damaged, cut short, or not the format its first bytes announce."
"""The one sentence for every failure inside the decoder. The library's own text never leaves the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeLimits:
    """What is refused before decoding, since a file of 2 kB can stand for gigabytes of pixels.

    Source: reference/security-reliability.md section 3, "Decoding images", and section 6.
    """

    max_pixels: int = 33_200_000
    """Largest width times height: 8K video, or a little more than any phone's default."""
    max_side: int = 16_384
    """Largest width or height, pixels."""
    max_aspect: int = 200
    """Largest ratio of the longer to the shorter side; the reference refuses more."""
    max_encoded_bytes: int = 20 * 1024 * 1024
    """Largest file."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the file says of itself.

    Attributes:
        format: which decoder will read it, from the first bytes and never from a name or a media type.
        width: pixels, as stored: an EXIF orientation is not applied.
        height: pixels, as stored.
    """

    format: Format
    width: int
    height: int


def read_header(encoded: bytes, limits: DecodeLimits, *, param: str | None = None, index: int | None = None) -> Header:
    """Sniff the format, read the size, refuse what is too large; decode nothing.

    Args:
        encoded: the bytes of a picture file.
        limits: what is refused.
        param: path of the field, for the error.
        index: input of the batch, for the error.

    Returns:
        The header; width and height are at least 1 and within the limits.

    Raises:
        MediaError: `media_too_large` or `media_undecodable`.

    Source: reference/security-reliability.md section 3, "Decoding images".
    """
    blame = Blame(param, index)
    if len(encoded) > limits.max_encoded_bytes:
        message = f"The image file has {len(encoded)} bytes; at most {limits.max_encoded_bytes} are accepted."
        blame.refuse("media_too_large", message)
    kind = sniff(encoded, blame)
    declared = _declared_size(encoded, kind)
    if declared is not None:  # before any library sees the file: a WebP decoder allocates its canvas when it is opened
        _check_size(*declared, limits, blame)
    width, height = open_image_file(encoded, kind, blame).size
    _check_size(width, height, limits, blame)
    return Header(kind, width, height)


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


def open_image_file(encoded: bytes, kind: Format, blame: Blame) -> ImageFile:
    """Open a file with the one Pillow plugin of its format, without decoding pixels.

    The plugin's class is called directly. `Image.open` would add Pillow's own limit, 89 million pixels, which is a
    process-wide setting, prints warnings, and does not name numbers.

    Args:
        encoded: the bytes of a picture file.
        kind: what `sniff` found.
        blame: what the error names.

    Returns:
        The opened file; its pixels are read by `load()`.

    Raises:
        MediaError: `media_undecodable`, or `media_too_large` for a frame beyond Pillow's own bomb limit.
    """
    try:
        return _PLUGINS[kind](io.BytesIO(encoded))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        blame.refuse("media_too_large", "The image holds a frame of more pixels than any limit of this service allows.")
    except Exception:  # noqa: BLE001  # fuzzing found eight unrelated classes, from SyntaxError to struct.error
        blame.refuse("media_undecodable", UNREADABLE)


def _declared_size(encoded: bytes, kind: Format) -> tuple[int, int] | None:
    """Width and height at the fixed places of the format; None where it has no fixed place."""
    little = [int.from_bytes(encoded[i : i + 2], "little") for i in (6, 8, 26, 28)]
    if kind == "PNG":
        return int.from_bytes(encoded[16:20], "big"), int.from_bytes(encoded[20:24], "big")
    if kind == "GIF":
        return little[0], little[1]
    if kind != "WEBP":
        return None
    if encoded[12:16] == b"VP8X":
        return int.from_bytes(encoded[24:27], "little") + 1, int.from_bytes(encoded[27:30], "little") + 1
    if encoded[12:16] == b"VP8L":
        bits = int.from_bytes(encoded[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return little[2] & 0x3FFF, little[3] & 0x3FFF


def _check_size(width: int, height: int, limits: DecodeLimits, blame: Blame) -> None:
    if width < 1 or height < 1:
        blame.refuse("media_undecodable", f"The image is {width} x {height} pixels; it needs at least 1 x 1.")
    shape = f"The image is {width} x {height} pixels"
    if max(width, height) > limits.max_side:
        blame.refuse("media_too_large", f"{shape}; a side may have at most {limits.max_side}.")
    if width * height > limits.max_pixels:
        blame.refuse("media_too_large", f"{shape}, {width * height} in all; at most {limits.max_pixels} are accepted.")
    if max(width, height) > limits.max_aspect * min(width, height):
        ratio = max(width, height) / min(width, height)
        blame.refuse(
            "media_too_large", f"{shape}, sides of ratio {ratio:.1f}; at most {limits.max_aspect} is accepted."
        )
