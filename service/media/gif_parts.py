"""The blocks of a GIF before its first frame: comments and applications' extensions are left out.

Source: GIF89a sections 18, 20 and 23 to 26.
"""

import re

from service.media.parts import MAX_FILL_BYTES, MAX_PARTS, Parts, Stretch, TooManyPartsError

_EXTENSION, _CONTROL, _TRAILER = 0x21, 0xF9, 0x3B
_BLOCK = re.compile(rb"[!,;]")
_FRAME_BYTES = 9


def gif_parts(encoded: bytes) -> Parts | None:
    """Size, and what a decoder needs of it.

    The size is the screen's, or the first frame's where that reaches beyond it: Pillow enlarges the image then.

    Args:
        encoded: the bytes of the file.

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
    """Where an extension's sub-blocks end, and how many more blocks there may be."""
    while encoded[place] and num_left > 0:
        place += 1 + encoded[place]
        num_left -= 1
    return place + 1, num_left


def _little(encoded: bytes, place: int) -> int:
    return int.from_bytes(encoded[place : place + 2], "little")
