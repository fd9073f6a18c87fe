"""Containers by PyAV, for video and audio files alike. Runs in a decoder process.

FFmpeg takes a cut file for a short one. MP4 and WebM put a length in front of what they hold, except in what was
written as a stream: a segment or cluster of WebM may declare an unknown length, as browsers' recorders do, and then
lasts as long as whole elements follow. Such a recording is read to its end, and one cut inside a block is refused. Cut
between two blocks of such a stream, or two fragments of an MP4, it cannot be told from a complete one.

Source: RFC 8794 sections 5 and 6, RFC 9559 section 5; ISO/IEC 14496-12 section 4.2.
"""

import io
from typing import BinaryIO, Protocol

import av
from av.container import InputContainer

from service.media.container import Container

_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675
_OPENED = frozenset((_SEGMENT, _CLUSTER))
"""Elements that may have no length: their content is walked over as if it stood beside them."""
_MAX_PARTS = 1 << 20
"""Most elements or boxes that are walked over: as many as a video may have packets."""
_MAX_NUMBER_BYTES = 8
_BOX_HEAD_BYTES, _LARGE_BOX_HEAD_BYTES = 8, 16


class UnreadableFileError(Exception):
    """The file is damaged, has no video or audio, or is not what it says."""


class LentContent(Protocol):
    """A file that lies elsewhere: parts of it come when they are asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...
    def stream(self) -> BinaryIO:
        """The whole of it from the start, to read and seek in."""
        ...


Content = bytes | LentContent


def open_container(content: Content, container: str) -> InputContainer:
    """Open a file as one container, named as FFmpeg does, and no other."""
    file = io.BytesIO(content) if isinstance(content, bytes) else content.stream()
    opened = av.open(file, format=container, metadata_errors="ignore")
    assert isinstance(opened, InputContainer)  # it was opened for reading
    return opened


def ends_inside(encoded: Content, container: Container) -> bool:
    """Return whether the file's last element or box is incomplete."""
    return _webm_ends_inside(encoded) if container == "webm" else _mp4_ends_inside(encoded)


def _webm_ends_inside(encoded: Content) -> bool:
    place = 0
    for _ in range(_MAX_PARTS):
        if place >= len(encoded):
            break
        name, behind_name = _number(encoded, place, keeps_mark=True)
        num_bytes, start = _number(encoded, behind_name)
        stop = start + (num_bytes or 0)
        if stop > len(encoded):
            return True
        if name == _SEGMENT and num_bytes is not None:  # complete; what follows is not looked at
            break
        if num_bytes is None and name not in _OPENED:  # damaged: the decoder decides
            break
        place = stop
    return False


def _number(encoded: Content, place: int, *, keeps_mark: bool = False) -> tuple[int | None, int]:
    """Read an EBML number; returns it and its end, None for an unknown length or an invalid number."""
    head = encoded[place : place + _MAX_NUMBER_BYTES]
    length = 9 - (head[0] if head else 0xFF).bit_length()
    value = int.from_bytes(head[:length], "big")
    bits = value & (1 << 7 * length) - 1
    if length > _MAX_NUMBER_BYTES or (bits == (1 << 7 * length) - 1 and not keeps_mark):
        return None, place + length
    return (value if keeps_mark else bits), place + length


def _mp4_ends_inside(encoded: Content) -> bool:
    """Only fragmented files are checked here: any other declares its number of packets."""
    place, has_fragments = 0, False
    for _ in range(_MAX_PARTS):
        if place >= len(encoded):
            break
        num_bytes = int.from_bytes(encoded[place : place + 4], "big")
        has_fragments |= encoded[place + 4 : place + _BOX_HEAD_BYTES] == b"moof"
        if num_bytes == 0:  # up to the end of the file
            return False
        if num_bytes == 1:
            num_bytes = int.from_bytes(encoded[place + _BOX_HEAD_BYTES : place + _LARGE_BOX_HEAD_BYTES], "big")
        place += max(num_bytes, _BOX_HEAD_BYTES)
    return has_fragments and place > len(encoded)
