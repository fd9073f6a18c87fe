"""How long a file itself says its sound is, and whether it ends before that. Runs in a worker's process.

FFmpeg takes a cut file for a short one. A part of a sound is another sound: what can be told to be cut is refused.
Files that were written as a stream say no length, and are taken as they are.
"""

from av.audio.stream import AudioStream
from av.container import InputContainer

from service.decode.container_end import ends_inside
from service.media.sound_file import SoundFormat

UNKNOWN_BYTES = (0, 0x7FFF_0000)
"""Lengths in a WAV file's header that mean none: 0, and all from there up, as encoders write them into pipes."""

_US = 1_000_000
_ID3_BYTES = 10
_XING_WITHIN = 256
_LAST_PAGE = 0x04
_PAGE_HEAD_BYTES = 27


def said_s(encoded: bytes, kind: SoundFormat, opened: InputContainer, stream: AudioStream) -> float:
    """Seconds that the file's header counts; 0 where it counts none, and FFmpeg only guesses."""
    if kind == "webm":
        return (opened.duration or 0) / _US
    counts = kind in ("wav", "flac", "mp4") or (kind == "mp3" and _has_xing(encoded))
    return float(stream.duration * stream.time_base) if counts and stream.duration and stream.time_base else 0.0


def is_cut(encoded: bytes, kind: SoundFormat) -> bool:
    """Whether a file ends too soon by its own structure; MP3 and FLAC have none that says so.

    Source: RIFF (data chunks have their length in front), RFC 3533 section 6 (a stream's last page is marked).
    """
    if kind == "ogg":
        return _lacks_last_page(encoded)
    if kind in ("webm", "mp4"):
        return ends_inside(encoded, kind)
    return kind == "wav" and _lacks_data(encoded)


def _lacks_last_page(encoded: bytes) -> bool:
    page = encoded[encoded.rfind(b"OggS") :]
    if len(page) < _PAGE_HEAD_BYTES or not page[5] & _LAST_PAGE:
        return True
    segments = page[_PAGE_HEAD_BYTES : _PAGE_HEAD_BYTES + page[26]]
    return len(page) < _PAGE_HEAD_BYTES + page[26] + sum(segments)


def _lacks_data(encoded: bytes) -> bool:
    place = 12
    while place + 8 <= len(encoded):
        num_bytes = int.from_bytes(encoded[place + 4 : place + 8], "little")
        if encoded[place : place + 4] == b"data":
            none, unknown_from = UNKNOWN_BYTES
            return none < num_bytes < unknown_from and num_bytes > len(encoded) - place - 8
        place += 8 + num_bytes + num_bytes % 2
    return True


def _has_xing(encoded: bytes) -> bool:
    """Whether the first frame of an MP3 file holds LAME's count of frames."""
    start = 0
    if encoded.startswith(b"ID3"):
        sizes = encoded[6:_ID3_BYTES]
        start = _ID3_BYTES + sum(byte << 7 * (3 - i) for i, byte in enumerate(sizes))
    head = encoded[start : start + _XING_WITHIN]
    return b"Xing" in head or b"Info" in head
