"""Files whose container has been read, and MP4 and WebM recognized by their first bytes, for videos and audio."""

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

Container = Literal["mp4", "webm"]
"""By FFmpeg's names."""

_EBML = b"\x1aE\xdf\xa3"
_EBML_HEAD_BYTES = 64

ContainerName = TypeVar("ContainerName")
Info = TypeVar("Info")


@dataclass(frozen=True, slots=True)
class OpenFile(Generic[ContainerName, Info]):
    """A file whose container has been read: what it says, and the digest of the file alone, 32 bytes."""

    encoded: bytes = field(repr=False, compare=False)
    container: ContainerName
    info: Info
    identity: bytes


def sniff_container(encoded: bytes) -> Container | None:
    """The container of a file; None for any other, Matroska that is not WebM among it.

    Source: ISO/IEC 14496-12 (`ftyp`), RFC 8794 (EBML).
    """
    if encoded[4:8] == b"ftyp":
        return "mp4"
    return "webm" if encoded.startswith(_EBML) and b"webm" in encoded[:_EBML_HEAD_BYTES] else None
