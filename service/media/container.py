"""MP4 and WebM by their first bytes: files of videos and of sounds alike."""

from typing import Literal

Container = Literal["mp4", "webm"]
"""By FFmpeg's names."""

_EBML = b"\x1aE\xdf\xa3"
_EBML_HEAD_BYTES = 64


def sniff_container(encoded: bytes) -> Container | None:
    """The container of a file; None for any other, Matroska that is not WebM among it.

    Args:
        encoded: the bytes of a file.

    Source: ISO/IEC 14496-12 (`ftyp`), RFC 8794 (EBML).
    """
    if encoded[4:8] == b"ftyp":
        return "mp4"
    return "webm" if encoded.startswith(_EBML) and b"webm" in encoded[:_EBML_HEAD_BYTES] else None
