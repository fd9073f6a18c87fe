"""Walks over image files of the five formats: what a decoder needs of them, and the limits of its parts.

Decoders walk over segments, chunks and blocks in Python, hold the interpreter lock meanwhile and keep what they find: a
file of nothing else costs seconds and hundreds of megabytes. So parts are counted first (too many are a
`TooManyPartsError`), and a decoder gets only those that its pixels depend on. A JPEG is walked over exactly as libjpeg
does it, so that both see the same file. PNG and GIF files lose their metadata, since Pillow inflates any number of
profiles and texts. libwebp lists all chunks when it opens a file, so they are counted. Pillow decodes run-length coded
BMP in Python, so its size is bounded.

Source: ITU T.81 annex B; libjpeg's jdmarker.c, `next_marker`, `read_markers` and `jpeg_resync_to_restart`; PNG (third
edition) 5.3 and 11; GIF89a sections 18, 20 and 23 to 26; RFC 9649; Microsoft's BITMAPINFOHEADER.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WidthHeight = tuple[int, int]
"""Width and height, in this order."""

Stretch = tuple[int, int]
"""Start and end of a range of bytes in a file."""

NOWHERE: Stretch = (0, 0)

MAX_PARTS = 1 << 15
"""Segments, chunks or blocks of a file: two for each row of the tallest image, since some encoders write each row as a
chunk of its own. Walking over so many takes 20 ms."""

MAX_FILL_BYTES = 1 << 20
"""Bytes between parts that mean nothing."""


class TooManyPartsError(Exception):
    """The file has more of something than is accepted; the message says of what, and how much is."""

    def __init__(self, what: str = "segments, chunks or blocks", accepted: int = MAX_PARTS) -> None:
        super().__init__(f"The image file has more than {accepted} {what}; at most {accepted} are accepted.")


@dataclass(frozen=True, slots=True)
class Parts:
    """The result of a walk over a file."""

    size: WidthHeight
    """Width and height as declared."""
    needed: tuple[Stretch, ...]
    """All that a decoder needs of it, in order; joined, it is a file again."""
    exif: Stretch = NOWHERE
    """Where the TIFF part of its EXIF is."""
    num_scans: int = 1
    """Times that a decoder goes over all of its pixels."""


MAX_SCANS = 64
"""Scans of a progressive file. Encoders write 6 to 15. A scan can have 50 bytes and take 25 ms, and all of them have to
be decoded before the first row is known: so many of them take as long as the largest image of an honest camera."""

MAX_TABLE_BYTES = 1 << 18
"""Tables and the like before the first scan: all that there can be are 5 kB."""

_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = frozenset((0xC2, 0xC6, 0xCA, 0xCE))
_BARE = frozenset((0x01, *range(0xD0, 0xD8)))
"""Markers without a length after them."""
_EOI, _SOS, _JFIF, _EXIF, _ADOBE = 0xD9, 0xDA, 0xE0, 0xE1, 0xEE
_TABLES = _SOF | {0xC4, 0xCC, 0xDB, 0xDC, 0xDD}
_SKIPPED = frozenset((*range(0xE0, 0xF0), 0xFE))
"""Application segments and comments; of all others libjpeg makes an error."""

_MARKER = re.compile(rb"\xff[\x01-\xfe]")
_MARKER_IN_SCAN = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
"""Restart markers and stuffed zeros belong to a scan."""
_PIECE_BYTES = 1 << 20


def jpeg_parts(encoded: bytes) -> Parts | None:
    """Size, scans, tables, and all from the first scan on; None without one, or of what no decoder takes."""
    frame: Stretch = NOWHERE
    exif: Stretch = NOWHERE
    needed: list[Stretch] = [(0, 2)]
    num_table_bytes, has_jfif = 0, False
    for marker, start, stop in _segments(encoded):
        if marker == _SOS:
            needed.append((start, len(encoded)))
            return _parts(encoded, frame, needed, exif, (start, stop))
        if marker in _SOF:
            if frame != NOWHERE:  # libjpeg takes one
                return None
            frame = (start, stop)
        is_jfif = marker == _JFIF and not has_jfif and encoded[start + 4 : start + 9] == b"JFIF\0"
        has_jfif |= is_jfif
        is_adobe = marker == _ADOBE and encoded[start + 4 : start + 9] == b"Adobe"
        if marker in _TABLES or is_jfif or is_adobe:
            needed.append((start, stop))
            num_table_bytes += stop - start
            if num_table_bytes > MAX_TABLE_BYTES:
                raise TooManyPartsError("bytes of tables", MAX_TABLE_BYTES)
        elif marker == _EXIF and exif == NOWHERE and encoded[start + 4 : start + 10] == b"Exif\0\0":
            exif = (start + 10, stop)
    return None


def _segments(encoded: bytes) -> Iterator[tuple[int, int, int]]:
    """Marker, start and end of each segment up to the first scan's; ends early at what libjpeg ends at."""
    place, num_spare_bytes = 2, MAX_FILL_BYTES
    for _ in range(MAX_PARTS):
        found = _MARKER.search(encoded, place, place + num_spare_bytes + 2)
        if found is None:
            if place + num_spare_bytes + 2 < len(encoded):
                raise TooManyPartsError("bytes between its segments", MAX_FILL_BYTES)
            return
        num_spare_bytes -= found.start() - place
        place = found.start()
        marker = encoded[place + 1]
        if marker in _BARE:
            place += 2
            continue
        if marker != _SOS and marker not in _TABLES and marker not in _SKIPPED:
            return
        stop = _end(encoded, place)
        if stop > len(encoded):
            return
        yield marker, place, stop
        place = stop
    raise TooManyPartsError


def _parts(encoded: bytes, frame: Stretch, needed: list[Stretch], exif: Stretch, scan: Stretch) -> Parts | None:
    """Collect the parts at the first scan."""
    start, stop = frame
    if stop - start < 10:
        return None
    size: WidthHeight = (
        int.from_bytes(encoded[start + 7 : start + 9], "big"),
        int.from_bytes(encoded[start + 5 : start + 7], "big"),
    )
    has_one_scan = encoded[start + 1] not in _PROGRESSIVE and encoded[scan[0] + 4] >= encoded[start + 9]
    return Parts(size, tuple(needed), exif, 1 if has_one_scan else _num_scans(encoded, scan[1]))


def _num_scans(encoded: bytes, place: int) -> int:
    """Count the scans that libjpeg decodes; `place` is after the start of the first."""
    num_scans = 1
    for _ in range(MAX_PARTS):
        place = _next_in_scan(encoded, place)
        marker = encoded[place + 1] if place >= 0 else _EOI
        if marker == _EOI:
            return num_scans
        if marker == _SOS:
            num_scans += 1
            if num_scans > MAX_SCANS:
                raise TooManyPartsError("scans", MAX_SCANS)
        is_known = marker == _SOS or marker in _TABLES or marker in _SKIPPED
        place = _end(encoded, place) if is_known else place + 2  # others end a decode, or are skipped at a restart
    raise TooManyPartsError


def _next_in_scan(encoded: bytes, place: int) -> int:
    """Return the place of the next marker, or -1. Searches in chunks, since a search holds the interpreter lock."""
    for start in range(place, len(encoded), _PIECE_BYTES):
        if found := _MARKER_IN_SCAN.search(encoded, start, start + _PIECE_BYTES + 1):
            return found.start()
    return -1


def _end(encoded: bytes, place: int) -> int:
    """Return the end of the segment whose marker is at `place`."""
    return place + 2 + max(2, int.from_bytes(encoded[place + 2 : place + 4], "big"))


_NEEDED = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"DDAT", b"IEND", b"acTL", b"fcTL", b"fdAT"))
"""Chunks that pixels depend on; an animation's frames keep their order."""
_HEAD_BYTES, _CRC_BYTES = 8, 4
_NAME = re.compile(rb"\w{4}")
"""Names that Pillow accepts: it stops at any other."""


def png_parts(encoded: bytes) -> Parts | None:
    """Size, EXIF, and what a decoder needs; None when it does not begin with its header."""
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
    """Size, and what a decoder needs of it; None when it ends before its screen's size.

    The size is the screen's, or the first frame's where that reaches beyond it: Pillow enlarges the image then.

    Raises:
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
    """Size and EXIF; a decoder gets all of it. None when it ends before its size."""
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
    """Size; a decoder gets all of it. None when it ends before its size."""
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
