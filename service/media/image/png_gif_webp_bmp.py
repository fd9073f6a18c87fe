"""The parts of PNG, GIF, WebP and BMP files.

PNG and GIF files lose their metadata, since Pillow inflates any number of profiles and texts. libwebp lists all chunks
when it opens a file, so they are counted. Pillow decodes run-length coded BMP in Python, so its size is bounded.

Source: PNG (third edition) 5.3 and 11; GIF89a sections 18, 20 and 23 to 26; RFC 9649; Microsoft's BITMAPINFOHEADER.
"""

import re

from service.media.image.parts import MAX_FILL_BYTES, MAX_PARTS, NOWHERE, Parts, Stretch, TooManyPartsError, WidthHeight

_NEEDED = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"DDAT", b"IEND", b"acTL", b"fcTL", b"fdAT"))
"""Chunks that pixels depend on; an animation's frames keep their order."""
_HEAD_BYTES, _CRC_BYTES = 8, 4
_NAME = re.compile(rb"\w{4}")
"""Names that Pillow accepts: it stops at any other."""


def png_parts(encoded: bytes) -> Parts | None:
    """Size, EXIF, and what a decoder needs.

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


_EXTENSION, _CONTROL, _TRAILER = 0x21, 0xF9, 0x3B
_BLOCK = re.compile(rb"[!,;]")
_FRAME_BYTES = 9


def gif_parts(encoded: bytes) -> Parts | None:
    """Size, and what a decoder needs of it.

    The size is the screen's, or the first frame's where that reaches beyond it: Pillow enlarges the image then.

    Returns:
        None when it ends before its screen's size.

    Raises:
        TooManyPartsError: of blocks, or of bytes between them.
        IndexError: the file ends inside an extension.
    """
    if len(encoded) < 13:
        return None
    width, height = _little(encoded, 6), _little(encoded, 8)
    palette_end = 13 + (3 << (encoded[10] & 7) + 1 if encoded[10] & 0x80 else 0)
    controls, place = _controls(encoded, palette_end)
    needed = ((0, palette_end), *controls, (place, len(encoded)))
    if place + _FRAME_BYTES > len(encoded) or encoded[place] == _TRAILER:  # there is none
        return Parts((width, height), needed)
    left, top, right, bottom = (_little(encoded, place + i) for i in (1, 3, 5, 7))
    return Parts((max(width, left + right), max(height, top + bottom)), needed)


def _controls(encoded: bytes, place: int) -> tuple[list[Stretch], int]:
    """Graphic control extensions before the first frame, which name the transparent color; and where it begins."""
    controls: list[Stretch] = []
    num_left = MAX_PARTS
    num_spare_bytes = MAX_FILL_BYTES
    while num_left > 0:
        found = _BLOCK.search(encoded, place, place + num_spare_bytes)
        if found is None and place + num_spare_bytes < len(encoded):
            raise TooManyPartsError("bytes between its blocks", MAX_FILL_BYTES)
        start = len(encoded) if found is None else found.start()
        if start == len(encoded) or encoded[start] != _EXTENSION:
            return controls, start
        num_spare_bytes -= start - place
        place, num_left = _behind_blocks(encoded, start + 2, num_left - 1)
        if encoded[start + 1] == _CONTROL:
            controls.append((start, place))
    raise TooManyPartsError


def _behind_blocks(encoded: bytes, place: int, num_left: int) -> tuple[int, int]:
    """Return the end of an extension's sub-blocks, and how many more blocks are allowed."""
    while encoded[place] and num_left > 0:
        place += 1 + encoded[place]
        num_left -= 1
    return place + 1, num_left


def _little(encoded: bytes, place: int) -> int:
    return int.from_bytes(encoded[place : place + 2], "little")


def webp_parts(encoded: bytes) -> Parts | None:
    """Size and EXIF; a decoder gets all of it.

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


def _size(encoded: bytes) -> WidthHeight:
    if encoded[12:16] == b"VP8X":
        return int.from_bytes(encoded[24:27], "little") + 1, int.from_bytes(encoded[27:30], "little") + 1
    if encoded[12:16] == b"VP8L":
        bits = int.from_bytes(encoded[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = (int.from_bytes(encoded[i : i + 2], "little") & 0x3FFF for i in (26, 28))
    return width, height


MAX_RUN_BYTES, MAX_RUN_PIXELS = 4 << 20, 8_847_360
"""A run-length coded file and its image, which is a 4K screen at most: a second of decoding each. 20 kB of lines that
end early would take three seconds else."""

_CORE_HEADER_BYTES = 12
_RUN_LENGTH = (1, 2)


def bmp_parts(encoded: bytes) -> Parts | None:
    """Size; a decoder gets all of it.

    Returns:
        None when it ends before its size.

    Raises:
        TooManyPartsError: it is run-length coded, and large.
    """
    if len(encoded) < 26:
        return None
    needed = ((0, len(encoded)),)
    if _number(encoded, 14) == _CORE_HEADER_BYTES:
        return Parts((_number(encoded, 18) & 0xFFFF, _number(encoded, 20) & 0xFFFF), needed)
    height = int.from_bytes(encoded[22:26], "little", signed=True)  # negative: rows from the top
    size = _number(encoded, 18), abs(height)
    if _number(encoded, 30) in _RUN_LENGTH:
        if len(encoded) > MAX_RUN_BYTES:
            raise TooManyPartsError("bytes and is run-length coded", MAX_RUN_BYTES)
        if size[0] * size[1] > MAX_RUN_PIXELS:
            raise TooManyPartsError("pixels and is run-length coded", MAX_RUN_PIXELS)
    return Parts(size, needed)


def _number(encoded: bytes, place: int) -> int:
    return int.from_bytes(encoded[place : place + 4], "little")
