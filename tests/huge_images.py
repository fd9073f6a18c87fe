"""Files of a few bytes that announce huge images, by format."""

import struct
import zlib
from collections.abc import Callable

from PIL import Image

from tests.builders import image_bytes


def png(width: int, height: int) -> bytes:
    """A PNG of that size, without its rows."""
    ihdr = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    idat = b"IDAT" + zlib.compress(bytes(64))
    chunks = [struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) for body in (ihdr, idat)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def gif(width: int, height: int) -> bytes:
    """A GIF whose screen has that size."""
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + b",\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


def gif_frame(width: int, height: int) -> bytes:
    """A GIF of a small screen whose first frame has that size."""
    frame = struct.pack("<cHHHHB", b",", 0, 0, width, height, 0)
    return b"GIF89a" + struct.pack("<HHBBB", 8, 8, 0, 0, 0) + frame + b"\x02"


def bmp(width: int, height: int) -> bytes:
    """A BMP of that size."""
    return b"BM" + struct.pack("<IIIIiiHHIIIIII", 54, 0, 54, 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)


def webp(width: int, height: int) -> bytes:
    """An extended WebP whose canvas has that size."""
    sides = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\2\0\0\0" + sides
    return b"RIFF" + struct.pack("<I", len(body)) + body


def jpeg(width: int, height: int) -> bytes:
    """A JPEG that claims that size."""
    file = bytearray(image_bytes(Image.new("RGB", (8, 8)), "JPEG"))
    start = file.index(b"\xff\xc0") + 5
    file[start : start + 4] = struct.pack(">HH", height, width)
    return bytes(file)


BOMBS: dict[str, Callable[[int, int], bytes]] = {
    "png": png,
    "gif": gif,
    "gif frame": gif_frame,
    "bmp": bmp,
    "webp": webp,
    "jpeg": jpeg,
}
"""Each takes width and height."""
