"""An audio file: format, what its container says, limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from schemas.content.audio import AudioFormat
from service.media.container import OpenFile, sniff_container
from service.media.error_location import ErrorLocation

AudioContainer = Literal["wav", "mp3", "flac", "ogg", "mp4", "webm"]
"""By FFmpeg's names."""

FORMATS: Mapping[AudioFormat, AudioContainer] = {
    "wav": "wav",
    "mp3": "mp3",
    "flac": "flac",
    "ogg": "ogg",
    "opus": "ogg",
    "m4a": "mp4",
    "mp4": "mp4",
    "webm": "webm",
}
"""Container of each format name of the API."""

_MPEG_SYNC, _MPEG_LAYER_3 = 0xFFE0, 0x0002
_MPEG_LAYER = 0x0006


class AudioInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that a container states about its audio."""

    rate_hz: int
    num_channels: int
    duration_s: float
    """Duration of its packets; the declared one where that is beyond the limit."""
    num_samples: int = 0
    """Samples that the model takes, where its tokens are counted by them; else 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioLimits:
    """Limits checked before a sample is decoded."""

    max_encoded_bytes: int = 64 << 20
    max_duration_s: float = 300.0
    max_channels: int = 16


@dataclass(frozen=True, slots=True)
class OpenAudio(OpenFile[AudioContainer, AudioInfo]):
    """An audio file whose container has been read."""


def audio_format(encoded: bytes, location: ErrorLocation) -> AudioContainer:
    """Tell the format from the first bytes and nothing else; any other is refused, playlists among it."""
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
    return location.refuse("media_undecodable", message)


_STARTS: Mapping[bytes, AudioContainer] = {b"fLaC": "flac", b"OggS": "ogg", b"ID3": "mp3"}


def check_named(named: AudioFormat, found: AudioContainer, location: ErrorLocation) -> None:
    """Refuse a file whose bytes are not of the format that its part names."""
    if FORMATS[named] != found:
        location.refuse("media_undecodable", f"`{location.param}`: got {named}, and the file is {found.upper()}")


def check_audio(info: AudioInfo, limits: AudioLimits, location: ErrorLocation) -> None:
    """Refuse what is too long, and what holds nothing."""
    if info.duration_s > limits.max_duration_s:
        message = f"The audio is {info.duration_s:.1f} s long; at most {limits.max_duration_s:g} s are accepted."
        location.refuse("media_too_large", message)
    if info.num_channels > limits.max_channels:
        message = f"The audio has {info.num_channels} channels; at most {limits.max_channels} are accepted."
        location.refuse("media_too_large", message)
    if info.duration_s <= 0:
        location.refuse("media_undecodable", "The audio has 0 samples; at least 1 is needed.")
