"""Sounds among content parts: base64 with its format, as OpenAI's clients send it, or a URL. One part is one sound.

Knows the shape only: at which rate a sound is heard and how much of it, is for the model's profile.
"""

import base64
from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Wire

_SAMPLES = bytes(2 * 160)
_HEADER = b"RIFF" + (36 + len(_SAMPLES)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
_FORMAT = b"\x01\0\x01\0" + (16_000).to_bytes(4, "little") + (32_000).to_bytes(4, "little") + b"\x02\0\x10\0"

EXAMPLE_WAV = base64.b64encode(_HEADER + _FORMAT + b"data" + len(_SAMPLES).to_bytes(4, "little") + _SAMPLES).decode()
"""A hundredth of a second of silence."""

EXAMPLE_AUDIO = "data:audio/wav;base64," + EXAMPLE_WAV

AudioFormat = Literal["wav", "mp3", "flac", "ogg", "opus", "m4a", "mp4", "webm"]
"""What a sound's file may be; `opus` is an Ogg file, `m4a` an MP4 file."""


class InputAudio(Wire, frozen=True, kw_only=True):
    """A sound's file, in OpenAI's shape."""

    data: Annotated[
        str,
        Meta(
            description="Base64 of the file, without a data URI in front.",
            examples=[EXAMPLE_WAV],
        ),
    ]
    format: Annotated[
        AudioFormat,
        Meta(description="What the file is. A file that is another is refused.", examples=["wav"]),
    ]


class InputAudioPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="input_audio"):
    """A sound, as OpenAI's chat routes take it."""

    input_audio: Annotated[
        InputAudio,
        Meta(
            description="The sound. Channels become one by their mean, and it is brought to the model's rate.",
            examples=[{"data": EXAMPLE_WAV, "format": "wav"}],
        ),
    ]


class AudioUrl(Wire, frozen=True, kw_only=True):
    """Where a sound comes from, in vLLM's shape."""

    url: Annotated[
        str,
        Meta(
            description="A data URI (`data:audio/wav;base64,...`) or the base64 text alone: WAV, MP3, FLAC, Ogg, MP4 "
            "or WebM; the server needs its extra `audio`. The format is read from the bytes, never from the declared "
            "type. `http`, `https` and `file` URLs are refused unless the server is configured to read them from their "
            "host or directory.",
            examples=[EXAMPLE_AUDIO],
        ),
    ]


AudioSource = AudioUrl | str
"""A sound's source: an object with `url`, or the URL itself."""


class AudioUrlPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="audio_url"):
    """A sound by its URL."""

    audio_url: Annotated[
        AudioSource,
        Meta(
            description="The sound: an object with `url`, or the URL itself as a string.",
            examples=[{"url": EXAMPLE_AUDIO}],
        ),
    ]
