"""What the front and a decoder's process say to each other: typed Structs in msgpack frames, and no memory is shared.

A process that a picture has taken over can write what it likes on its socket, and nothing else: it never sees another
picture, the arena or a key, and what it says is bounded before it is read.
"""

import msgspec

from service.media.clip import ClipInfo
from service.media.container import Container
from service.media.format import Format
from service.media.framing import Framing
from service.media.reading import Background
from service.media.sound_file import SoundFormat, SoundInfo
from service.media.sound_rule import SoundRule


class DecodeTask(msgspec.Struct, frozen=True, kw_only=True):
    """One picture to decode; front to worker."""

    encoded: bytes
    format: Format
    width: int
    height: int
    orientation: int
    background: Background | None
    size: tuple[int, int]
    """Height and width of the pixels wanted."""
    framing: Framing | None = None
    """How they are made; None for a plain resize."""


class ClipTask(msgspec.Struct, frozen=True, kw_only=True):
    """A video file to read; front to worker. Without frames it is asked what the container says."""

    encoded: bytes
    container: Container
    frames: tuple[int, ...] = ()
    """Which frames, ascending, each once."""
    size: tuple[int, int] = (0, 0)
    """Height and width of the pixels wanted."""
    max_pixels: int
    """Largest frame that is taken out of the decoder."""


class SoundTask(msgspec.Struct, frozen=True, kw_only=True):
    """A sound file to read; front to worker. Without a rule it is asked what the container says."""

    encoded: bytes
    format: SoundFormat
    rule: SoundRule | None = None
    """At which rate it is heard, and how much of it."""
    max_samples: int = 0
    """Most samples at that rate that are taken out of the decoder."""
    num_slot_bytes: int = 0
    """Of what comes back."""
    max_duration_s: float = 0.0
    """No packet beyond is looked at, where the container is asked."""


class DecodeEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended; worker to front. The first one, with `num_bytes` 0, says that the worker is ready."""

    num_bytes: int
    """Bytes of pixels that follow this frame, raw; 0 when there are none: the file cannot be decoded."""
    clip: ClipInfo | None = None
    """What a container says; None when it cannot be read, and where nobody asked."""
    sound: SoundInfo | None = None
    """Likewise, of a sound's."""
    num_stderr_bytes: int = 0
    """Bytes that codecs wrote to stderr meanwhile; nobody reads them."""


MAX_END_BYTES = 256
"""Longest frame that is taken from a worker."""
