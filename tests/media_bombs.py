"""Image files whose bytes are cheap and whose decoding is not: scans, segments, chunks, sub-blocks and fill bytes.

All are small images with much around them, or large ones of few bytes; every parser that walks over them pays.
"""

import functools
import struct
import zlib
from collections.abc import Callable, Mapping

from PIL import Image

from tests.builders import image_bytes, noise

EOI = b"\xff\xd9"
_SOS = b"\xff\xda"


def image(kind: str, side: int = 32, **options: object) -> bytes:
    """A plain image file."""
    return image_bytes(noise(side, side, seed=side), kind, **options)


@functools.cache
def progressive(side: int, mode: str = "L") -> bytes:
    """A progressive JPEG without content, as libjpeg writes it."""
    return image_bytes(Image.new(mode, (side, side)), "JPEG", progressive=True)


def scans(num_scans: int, side: int = 5760) -> bytes:
    """A progressive JPEG whose last scan, a refinement, is repeated until it has so many."""
    file = progressive(side)
    last = file[file.rindex(_SOS) : -2]
    return file[:-2] + last * (num_scans - file.count(_SOS)) + EOI


def empty_scans(num_scans: int, side: int = 1024) -> bytes:
    """A sequential JPEG of three components whose scans are of one component each and hold nothing."""
    file = image("JPEG", 8)
    head = bytearray(file[: file.index(_SOS)])
    start = head.index(b"\xff\xc0") + 5
    head[start : start + 4] = struct.pack(">HH", side, side)
    one = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
    others = b"".join(b"\xff\xda\x00\x08\x01" + bytes((n, 0x11)) + b"\x00\x3f\x00" for n in (2, 3))
    return bytes(head) + one + others + one * (num_scans - 3) + EOI


def jpeg_with(stuff: bytes, num_bytes: int) -> bytes:
    """A small JPEG with that before its tables, as often as it takes."""
    file = image("JPEG")
    place = file.index(b"\xff\xdb")
    return file[:place] + stuff * (num_bytes // len(stuff)) + file[place:]


def between_scans(stuff: bytes, num_bytes: int) -> bytes:
    """A progressive JPEG with that before its second scan."""
    file = progressive(32, "RGB")
    place = file.index(b"\xff\xc4", file.index(_SOS))
    return file[:place] + stuff * (num_bytes // len(stuff)) + file[place:]


def segment(marker: int, payload: bytes) -> bytes:
    """A segment of a JPEG."""
    return bytes((0xFF, marker)) + struct.pack(">H", len(payload) + 2) + payload


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_with(stuff: bytes, num_bytes: int, before: bytes = b"IDAT") -> bytes:
    """A small PNG with that before its first chunk of a kind."""
    file = image("PNG")
    place = file.index(before) - 4
    return file[:place] + stuff * (num_bytes // len(stuff)) + file[place:]


def split_png(num_bytes: int) -> bytes:
    """A PNG of noise whose rows come in chunks of one byte."""
    side = int((num_bytes / 13 / 3) ** 0.5)
    file = image("PNG", side, compress_level=0)
    place = file.index(b"IDAT") + 4
    size = struct.unpack(">I", file[place - 8 : place - 4])[0]
    data = file[place : place + size]
    return file[: place - 8] + b"".join(chunk(b"IDAT", bytes((one,))) for one in data) + chunk(b"IEND")


def deflated(kind: bytes, front: bytes) -> bytes:
    """A chunk of 1 kB that inflates to nearly 1 MB."""
    return chunk(kind, front + zlib.compress(bytes((1 << 20) - 1), 9))


def exif_entries(num_bytes: int) -> bytes:
    """An eXIf chunk of 512 entries without an orientation, and as much after them."""
    tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", 512) + struct.pack("<HHIHH", 1, 3, 1, 1, 0) * 512
    return png_with(chunk(b"eXIf", tiff + bytes(num_bytes)), num_bytes + 8192)


def gif_with(stuff: bytes, num_bytes: int) -> bytes:
    """A small GIF with an extension of such sub-blocks before its image."""
    file = image("GIF")
    place = 13 + (3 << (file[10] & 7) + 1)
    return file[:place] + b"!\xfe" + stuff * (num_bytes // len(stuff)) + b"\0" + file[place:]


def gif_extensions(num_bytes: int) -> bytes:
    """A small GIF with comments of no sub-block before its image."""
    file = image("GIF")
    place = 13 + (3 << (file[10] & 7) + 1)
    return file[:place] + b"!\xfe\0" * (num_bytes // 3) + file[place:]


def webp_with(stuff: bytes, num_bytes: int) -> bytes:
    """A small extended WebP with that after its image."""
    image = Image.new("RGBA", (32, 32), (1, 2, 3, 4))
    body = image_bytes(image, "WEBP", lossless=True, exif=b"Exif\0\0II*\0")[8:] + stuff * (num_bytes // len(stuff))
    return b"RIFF" + struct.pack("<I", len(body)) + body


def rle_bmp(rows: bytes, width: int, height: int, bits: int = 8) -> bytes:
    """A run-length coded BMP."""
    offset = 54 + (4 << bits)
    head = struct.pack("<IiiHHIIIIII", 40, width, height, 1, bits, 1 if bits == 8 else 2, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + head + bytes(4 << bits) + rows


BOMBS: Mapping[str, Callable[[int], bytes]] = {
    "jpeg scans": lambda size: scans(size // 53),
    "jpeg empty scans": lambda size: empty_scans(size // 10),
    "jpeg fill bytes": lambda size: jpeg_with(b"\xff", size),
    "jpeg garbage": lambda size: jpeg_with(b"\0", size),
    "jpeg bare markers": lambda size: jpeg_with(b"\xff\xd0", size),
    "jpeg empty comments": lambda size: jpeg_with(segment(0xFE, b""), size),
    "jpeg exif parts": lambda size: jpeg_with(segment(0xE1, b"Exif\0\0" + bytes(size // 3000)), size),
    "jpeg tables": lambda size: jpeg_with(segment(0xDB, bytes(65) * 1000), size),
    "jpeg components": lambda size: jpeg_with(segment(0xC0, b"\x08\0\x20\0\x20\x03" + bytes(65_000)), size),
    "jpeg comments between scans": lambda size: between_scans(segment(0xFE, b""), size),
    "jpeg fill bytes between scans": lambda size: between_scans(b"\xff", size),
    "png empty texts": lambda size: png_with(chunk(b"tEXt"), size),
    "png unknown chunks": lambda size: png_with(chunk(b"abCd"), size),
    "png unknown chunks behind": lambda size: png_with(chunk(b"abCd"), size, b"IEND"),
    "png empty data": lambda size: png_with(chunk(b"IDAT"), size, b"IEND"),
    "png data of one byte": split_png,
    "png profiles": lambda size: png_with(deflated(b"iCCP", b"a\0\0"), size),
    "png texts": lambda size: png_with(deflated(b"zTXt", b"a\0\0"), size),
    "png exif": exif_entries,
    "gif sub-blocks": lambda size: gif_with(b"\x01a", size),
    "gif long sub-blocks": lambda size: gif_with(b"\xff" + b"a" * 255, size),
    "gif extensions": gif_extensions,
    "webp chunks": lambda size: webp_with(b"abcd\0\0\0\0", size),
    "bmp lines": lambda size: rle_bmp(b"\1\1\0\0" * (size // 4), 5760, 5760),
    "bmp runs": lambda size: rle_bmp(b"\x01\x01" * (size // 2), 4000, 4000),
    "bmp moves": lambda size: rle_bmp(b"\0\x02\0\0" * (size // 4), 64, 64),
    "bmp nibbles": lambda size: rle_bmp(b"\xff\x12" * (size // 2), 5760, 5760, bits=4),
}
"""By name; each makes a file of about so many bytes."""
