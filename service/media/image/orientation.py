"""The orientation that a camera wrote into an image's EXIF: one number from 1 to 8.

In: the TIFF part of a file's EXIF. Out: the number; 1, "as stored", for all that is absent, damaged or out of range.
Reads one tag of one directory at fixed places and follows no other pointer: there is no loop and nothing to fail.

Source: CIPA DC-008 (Exif 3.0) 4.6.4; TIFF 6.0, orientation; docs/notes/security.md.
"""

from collections.abc import Mapping
from typing import Literal

from PIL import Image

AS_STORED = 1
MAX_ENTRIES = 512
"""Entries of the directory that are looked at."""

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


def turn_upright(image: Image.Image, orientation: int) -> Image.Image:
    """The image as it was taken."""
    return image if orientation == AS_STORED else image.transpose(_TURNS[orientation])


def read_orientation(tiff: bytes) -> int:
    """The orientation that an EXIF says, 1 to 8."""
    order: Literal["little", "big"] = "little" if tiff[:4] == b"II*\0" else "big"
    if order == "big" and tiff[:4] != b"MM\0*":
        return AS_STORED
    start = int.from_bytes(tiff[4:8], order)
    num_entries = int.from_bytes(tiff[start : start + 2], order)
    for i in range(min(num_entries, MAX_ENTRIES)):
        place = start + 2 + i * _ENTRY_BYTES
        entry = tiff[place : place + _ENTRY_BYTES]
        if int.from_bytes(entry[:2], order) == _TAG:
            value = int.from_bytes(entry[8:10], order)
            is_one_short = (int.from_bytes(entry[2:4], order), int.from_bytes(entry[4:8], order)) == (_SHORT, 1)
            return value if is_one_short and (value == AS_STORED or value in _TURNS) else AS_STORED
    return AS_STORED
