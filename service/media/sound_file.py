"""A sound that came as a file: what its first bytes and its container say of it, no sample decoded.

In: encoded bytes, and what a decoder's process has read of them. Out: an `OpenSound`, or why it is refused. Knows no
decoder and no model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from schemas.audio import AudioFormat
from service.media.blame import Blame
from service.media.container import sniff_container

SoundFormat = Literal["wav", "mp3", "flac", "ogg", "mp4", "webm"]
"""By FFmpeg's names."""

FORMATS: Mapping[AudioFormat, SoundFormat] = {
    "wav": "wav",
    "mp3": "mp3",
    "flac": "flac",
    "ogg": "ogg",
    "opus": "ogg",
    "m4a": "mp4",
    "mp4": "mp4",
    "webm": "webm",
}
"""Which file each name of the wire stands for."""

_MPEG_SYNC, _MPEG_LAYER_3 = 0xFFE0, 0x0002
_MPEG_LAYER = 0x0006


class SoundInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a container says of its sound."""

    rate_hz: int
    num_channels: int
    duration_s: float
    """As long as its packets are; where the file itself says that it is too long, what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundLimits:
    """What is refused before a sample is decoded."""

    max_encoded_bytes: int = 64 << 20
    max_duration_s: float = 300.0
    max_channels: int = 16


@dataclass(frozen=True, slots=True)
class OpenSound:
    """A file whose container has been read.

    Attributes:
        encoded: the bytes of the file.
        format: which reader of containers it is for.
        info: what the container says.
        identity: the file alone, 32 bytes.
    """

    encoded: bytes = field(repr=False, compare=False)
    format: SoundFormat
    info: SoundInfo
    identity: bytes


def sound_format(encoded: bytes, blame: Blame) -> SoundFormat:
    """Tell the format from the first bytes and nothing else.

    Args:
        encoded: the bytes of a file.
        blame: what errors name.

    Raises:
        MediaError: `media_undecodable` for any other, playlists among it.
    """
    if encoded.startswith(b"RIFF") and encoded[8:12] == b"WAVE":
        return "wav"
    for start, kind in _STARTS.items():
        if encoded.startswith(start):
            return kind
    if (container := sniff_container(encoded)) is not None:
        return container
    head = int.from_bytes(encoded[:2], "big")
    if head & _MPEG_SYNC == _MPEG_SYNC and head & _MPEG_LAYER == _MPEG_LAYER_3:
        return "mp3"
    message = "The audio is none of the accepted formats: WAV, MP3, FLAC, Ogg, MP4, WebM."
    return blame.refuse("media_undecodable", message)


_STARTS: Mapping[bytes, SoundFormat] = {b"fLaC": "flac", b"OggS": "ogg", b"ID3": "mp3"}


def check_named(named: AudioFormat, found: SoundFormat, blame: Blame) -> None:
    """Refuse a file that is not what its part says.

    Args:
        named: what the part says.
        found: what the bytes say.
        blame: the place of the name.

    Raises:
        MediaError: `media_undecodable`.
    """
    if FORMATS[named] != found:
        blame.refuse("media_undecodable", f"`{blame.param}`: got {named}, and the file is {found.upper()}")


def check_sound(info: SoundInfo, limits: SoundLimits, blame: Blame) -> None:
    """Refuse what is too long, and what holds nothing.

    Args:
        info: what the container says.
        limits: what is refused.
        blame: what errors name.

    Raises:
        MediaError: `media_too_large`, `media_undecodable`.
    """
    if info.duration_s > limits.max_duration_s:
        message = f"The audio is {info.duration_s:.1f} s long; at most {limits.max_duration_s:g} s are accepted."
        blame.refuse("media_too_large", message)
    if info.num_channels > limits.max_channels:
        message = f"The audio has {info.num_channels} channels; at most {limits.max_channels} are accepted."
        blame.refuse("media_too_large", message)
    if info.duration_s <= 0:
        blame.refuse("media_undecodable", "The audio has 0 samples; at least 1 is needed.")
