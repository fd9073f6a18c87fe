"""The segments of a JPEG, and its scans: walked over exactly as libjpeg does it, so that both see the same file.

Source: ITU T.81 annex B; libjpeg's jdmarker.c, `next_marker`, `read_markers` and `jpeg_resync_to_restart`.
"""

import re
from collections.abc import Iterator

from service.media.image.parts import MAX_FILL_BYTES, MAX_PARTS, NOWHERE, Parts, Stretch, TooManyPartsError, WidthHeight

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
    """Size, scans, and what a decoder needs: tables, and all from the first scan on.

    Returns:
        None when it ends before the first scan, or holds what no decoder takes.

    Raises:
        TooManyPartsError: of segments, scans, tables or fill bytes.
    """
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
