"""Audio content parts: base64 with its format, as OpenAI's clients send it, or a URL. One part is one file.

The sample rate and the longest audio that a model takes are the model's, in its profile.
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_AUDIO, EXAMPLE_WAV

AudioFormat = Literal["wav", "mp3", "flac", "ogg", "opus", "m4a", "mp4", "webm"]
"""Format of an audio file; `opus` is an Ogg file, `m4a` an MP4 file."""


class InputAudio(Wire, frozen=True, kw_only=True):
    """An audio file, in OpenAI's shape."""

    data: Annotated[
        str,
        Meta(
            description="Base64 of the file, without a data URI in front.",
            examples=[EXAMPLE_WAV],
        ),
    ]
    format: Annotated[
        AudioFormat,
        Meta(description="Format of the file. A file of another format is refused.", examples=["wav"]),
    ]


class InputAudioPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="input_audio"):
    """An audio file, as OpenAI's chat routes take it."""

    input_audio: Annotated[
        InputAudio,
        Meta(
            description="The audio. Its channels are averaged into one and resampled to the model's rate.",
            examples=[{"data": EXAMPLE_WAV, "format": "wav"}],
        ),
    ]


class AudioUrl(Wire, frozen=True, kw_only=True):
    """The URL of an audio file, in vLLM's shape."""

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
"""An audio file's source: an object with `url`, or the URL itself."""


class AudioUrlPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="audio_url"):
    """An audio file by its URL."""

    audio_url: Annotated[
        AudioSource,
        Meta(
            description="The audio: an object with `url`, or the URL itself as a string.",
            examples=[{"url": EXAMPLE_AUDIO}],
        ),
    ]
