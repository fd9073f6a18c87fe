"""Width and height as a file declares them, found by ourselves in the few bytes that say so.

In: the bytes of a file, and its format. Out: its size, or None where it has none.
No library sees the file before these numbers are within the limits: decoders allocate what a header asks for, some of
them when they are opened. What is read here is held against the decoder's own reading before anything is allocated.

Source: PNG (third edition) 11.2.1; ITU T.81 annex B; RFC 9649; GIF89a sections 18 and 20; Microsoft's BITMAPINFOHEADER.
"""

from collections.abc import Callable, Mapping

from service.media.format import Format

Size = tuple[int, int]
"""Width and height, in this order."""

_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset((0x01, *range(0xD0, 0xD9)))
"""Markers without a length behind them."""
_EOI, _SOS = 0xD9, 0xDA
_EXTENSION, _FRAME = 0x21, 0x2C
_MAX_STEPS = 100_000
"""Segments or blocks before the size that are walked over: a file of nothing else would keep us busy for seconds."""


def declared_size(encoded: bytes, kind: Format) -> Size | None:
    """Width and height of a file.

    Args:
        encoded: the bytes of the file.
        kind: its format.

    Returns:
        Width and height, as stored; None when the file ends before them or says something else there.
    """
    try:
        return _READERS[kind](encoded)
    except IndexError:  # the file ends here
        return None


def _png(encoded: bytes) -> Size | None:
    if encoded[12:16] != b"IHDR" or len(encoded) < 24:
        return None
    return int.from_bytes(encoded[16:20], "big"), int.from_bytes(encoded[20:24], "big")


def _jpeg(encoded: bytes) -> Size | None:
    place = 2
    for _ in range(_MAX_STEPS):
        place = encoded.find(0xFF, place)
        if place < 0:
            return None
        marker = encoded[place + 1]
        if marker in _SOF:
            height, width = (int.from_bytes(encoded[i : i + 2], "big") for i in (place + 5, place + 7))
            return (width, height) if place + 9 <= len(encoded) else None
        if marker in (_SOS, _EOI):
            return None
        if marker == 0xFF:  # fill byte: the marker comes later
            place += 1
        elif marker in _BARE or marker == 0:
            place += 2
        else:
            place += 2 + (encoded[place + 2] << 8 | encoded[place + 3])
    return None


def _webp(encoded: bytes) -> Size | None:
    if len(encoded) < 30:
        return None
    if encoded[12:16] == b"VP8X":
        return int.from_bytes(encoded[24:27], "little") + 1, int.from_bytes(encoded[27:30], "little") + 1
    if encoded[12:16] == b"VP8L":
        bits = int.from_bytes(encoded[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return _little(encoded, 26) & 0x3FFF, _little(encoded, 28) & 0x3FFF


def _gif(encoded: bytes) -> Size | None:
    """The screen, or the first frame where that reaches beyond it: Pillow enlarges the picture then."""
    if len(encoded) < 13:
        return None
    width, height = _little(encoded, 6), _little(encoded, 8)
    place = 13 + (3 << (encoded[10] & 7) + 1 if encoded[10] & 0x80 else 0)
    num_steps = 0
    while place < len(encoded) and encoded[place] != _FRAME:
        is_extension = encoded[place] == _EXTENSION
        place += 2 if is_extension else 1
        while is_extension and encoded[place] and num_steps < _MAX_STEPS:
            place += 1 + encoded[place]
            num_steps += 1
        place += is_extension
        num_steps += 1
        if num_steps > _MAX_STEPS:
            return None
    if place + 9 > len(encoded):
        return width, height
    left, top, right, bottom = (_little(encoded, place + i) for i in (1, 3, 5, 7))
    return max(width, left + right), max(height, top + bottom)


def _bmp(encoded: bytes) -> Size | None:
    if len(encoded) < 26:
        return None
    if int.from_bytes(encoded[14:18], "little") == 12:
        return _little(encoded, 18), _little(encoded, 20)
    height = int.from_bytes(encoded[22:26], "little", signed=True)  # negative: rows from the top
    return int.from_bytes(encoded[18:22], "little"), abs(height)


def _little(encoded: bytes, place: int) -> int:
    return int.from_bytes(encoded[place : place + 2], "little")


_READERS: Mapping[Format, Callable[[bytes], Size | None]] = {
    "PNG": _png,
    "JPEG": _jpeg,
    "WEBP": _webp,
    "GIF": _gif,
    "BMP": _bmp,
}
