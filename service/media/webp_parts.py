"""The chunks of a WebP: libwebp lists all of them as it opens a file, in memory that nobody has counted.

Source: RFC 9649.
"""

from service.media.parts import MAX_PARTS, NOWHERE, Parts, Size, Stretch, TooManyPartsError


def webp_parts(encoded: bytes) -> Parts | None:
    """Size and EXIF; a decoder gets all of it.

    Args:
        encoded: the bytes of the file.

    Returns:
        None when it ends before its size.

    Raises:
        TooManyPartsError: of chunks.
    """
    if len(encoded) < 30:
        return None
    exif: Stretch = NOWHERE
    place = 12
    for _ in range(MAX_PARTS):
        if place + 8 > len(encoded):
            return Parts(_size(encoded), ((0, len(encoded)),), exif)
        num_bytes = int.from_bytes(encoded[place + 4 : place + 8], "little")
        if encoded[place : place + 4] == b"EXIF" and exif == NOWHERE:
            has_name = encoded[place + 8 : place + 14] == b"Exif\0\0"
            exif = (place + 8 + 6 * has_name, place + 8 + num_bytes)
        place += 8 + num_bytes + num_bytes % 2
    raise TooManyPartsError


def _size(encoded: bytes) -> Size:
    if encoded[12:16] == b"VP8X":
        return int.from_bytes(encoded[24:27], "little") + 1, int.from_bytes(encoded[27:30], "little") + 1
    if encoded[12:16] == b"VP8L":
        bits = int.from_bytes(encoded[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = (int.from_bytes(encoded[i : i + 2], "little") & 0x3FFF for i in (26, 28))
    return width, height
