"""The header of a BMP, which says all; a run-length coded one is bounded, since Pillow decodes it in Python.

Source: Microsoft's BITMAPINFOHEADER.
"""

from service.media.parts import Parts, TooManyPartsError

MAX_RUN_BYTES, MAX_RUN_PIXELS = 4 << 20, 8_847_360
"""A run-length coded file and its image, which is a 4K screen at most: a second of decoding each. 20 kB of lines that
end early would take three seconds else."""

_CORE_HEADER_BYTES = 12
_RUN_LENGTH = (1, 2)


def bmp_parts(encoded: bytes) -> Parts | None:
    """Size; a decoder gets all of it.

    Args:
        encoded: the bytes of the file.

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
