"""The orientation that a camera wrote into a picture's EXIF: one number from 1 to 8.

In: the bytes of a file. Out: the number; 1, "as stored", for everything that is absent, damaged or out of range. Reads
one tag of one directory at fixed places and follows no other pointer, so there is no loop and nothing to fail.

Source: CIPA DC-008 (Exif 3.0) 4.6.4; TIFF 6.0, orientation; reference/security-reliability.md, "EXIF orientation".
"""

from collections.abc import Callable, Mapping
from typing import Literal

from PIL import Image

from service.media.format import Format

AS_STORED = 1
MAX_ENTRIES = 512
"""Entries of the directory that are looked at."""
MAX_PARTS = 4_096
"""Segments or chunks of the file that are walked over."""

_TAG, _SHORT, _ENTRY_BYTES = 0x0112, 3, 12
_TURNS: Mapping[int, Image.Transpose] = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_orientation(encoded: bytes, kind: Format) -> int:
    """The orientation of a file, 1 to 8.

    Args:
        encoded: the bytes of the file.
        kind: its format; GIF and BMP have no EXIF.
    """
    find = _FINDERS.get(kind)
    try:
        return AS_STORED if find is None else _orientation(find(encoded))
    except IndexError:  # the file, or its EXIF, ends here
        return AS_STORED


def swaps_sides(orientation: int) -> bool:
    """Whether an upright picture is as wide as the stored one is high."""
    return orientation >= 5


def turn_upright(picture: Image.Image, orientation: int) -> Image.Image:
    """The picture as it was taken.

    Args:
        picture: as stored.
        orientation: 1 to 8.
    """
    return picture if orientation == AS_STORED else picture.transpose(_TURNS[orientation])


def _orientation(tiff: bytes) -> int:
    order: Literal["little", "big"] = "little" if tiff[:4] == b"II*\0" else "big"
    if order == "big" and tiff[:4] != b"MM\0*":
        return AS_STORED
    start = int.from_bytes(tiff[4:8], order)
    num_entries = int.from_bytes(tiff[start : start + 2], order)
    for i in range(min(num_entries, MAX_ENTRIES)):
        entry = tiff[start + 2 + i * _ENTRY_BYTES :][:_ENTRY_BYTES]
        if int.from_bytes(entry[:2], order) == _TAG:
            value = int.from_bytes(entry[8:10], order)
            is_one_short = (int.from_bytes(entry[2:4], order), int.from_bytes(entry[4:8], order)) == (_SHORT, 1)
            return value if is_one_short and (value == AS_STORED or value in _TURNS) else AS_STORED
    return AS_STORED


def _of_jpeg(encoded: bytes) -> bytes:
    """The TIFF part of the first Exif segment before the scan."""
    place = 2
    for _ in range(MAX_PARTS):
        if encoded[place] != 0xFF or encoded[place + 1] in (0xD9, 0xDA):
            break
        if encoded[place + 1] == 0xFF:
            place += 1
            continue
        stop = place + 2 + (encoded[place + 2] << 8 | encoded[place + 3])
        if encoded[place + 1] == 0xE1 and encoded[place + 4 : place + 10] == b"Exif\0\0":
            return encoded[place + 10 : stop]
        place = stop
    return b""


def _of_png(encoded: bytes) -> bytes:
    place = 8
    for _ in range(MAX_PARTS):
        num_bytes = int.from_bytes(encoded[place : place + 4], "big")
        if encoded[place + 4 : place + 8] == b"eXIf":
            return encoded[place + 8 : place + 8 + num_bytes]
        place += 12 + num_bytes
    return b""


def _of_webp(encoded: bytes) -> bytes:
    place = 12
    for _ in range(MAX_PARTS):
        num_bytes = int.from_bytes(encoded[place + 4 : place + 8], "little")
        if encoded[place : place + 4] == b"EXIF":
            return encoded[place + 8 : place + 8 + num_bytes].removeprefix(b"Exif\0\0")
        place += 8 + num_bytes + num_bytes % 2
    return b""


_FINDERS: Mapping[Format, Callable[[bytes], bytes]] = {"JPEG": _of_jpeg, "PNG": _of_png, "WEBP": _of_webp}
