"""The chunks of a PNG: metadata is left out, since Pillow inflates profiles and texts of any number.

Source: PNG (third edition) 5.3 and 11.
"""

import re

from service.media.parts import MAX_PARTS, NOWHERE, Parts, Stretch, TooManyPartsError

_NEEDED = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"DDAT", b"IEND", b"acTL", b"fcTL", b"fdAT"))
"""What Pillow makes pixels of; an animation's frames keep their order."""
_HEAD_BYTES, _CRC_BYTES = 8, 4
_NAME = re.compile(rb"\w{4}")
"""What Pillow takes for a name: it ends at any other."""


def png_parts(encoded: bytes) -> Parts | None:
    """Size, EXIF, and what a decoder needs.

    Args:
        encoded: the bytes of the file.

    Returns:
        None when it does not begin with its header.

    Raises:
        TooManyPartsError: of chunks.
    """
    if encoded[12:16] != b"IHDR" or len(encoded) < 24:
        return None
    size = int.from_bytes(encoded[16:20], "big"), int.from_bytes(encoded[20:24], "big")
    exif: Stretch = NOWHERE
    needed: list[Stretch] = [(0, 8)]
    place = 8
    for _ in range(MAX_PARTS):
        stop = place + _HEAD_BYTES + int.from_bytes(encoded[place : place + 4], "big") + _CRC_BYTES
        kind = encoded[place + 4 : place + _HEAD_BYTES]
        if stop > len(encoded) or not _NAME.fullmatch(kind):  # the decoder ends here as well, and says whether it may
            stop = len(encoded)
            needed.append((place, stop))
        elif kind in _NEEDED:
            needed.append((place, stop))
        elif kind == b"eXIf" and exif == NOWHERE:
            exif = (place + _HEAD_BYTES, stop - _CRC_BYTES)
        if stop == len(encoded) or kind == b"IEND":
            return Parts(size, tuple(needed), exif)
        place = stop
    raise TooManyPartsError
