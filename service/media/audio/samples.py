"""An audio file as prompts, shared memory and the engine's client carry it: a `MediaItem`.

Its slot holds a count and so many samples; how many there are exactly is known once it is decoded, and a bound before.
Knows no decoder.
"""

import math
import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from service.media.audio.audio_file import OpenAudio
from service.media.error_location import NO_LOCATION, ErrorLocation
from service.media.item import AudioRule, GridThw, MediaKind, PlacedItem, SentAs
from service.media.key import audio_digest, audio_key

COUNT = struct.Struct("<q")
"""In front of the samples: how many there are."""

SLACK_S = 0.5
"""Most seconds by which a file may exceed its packets: codecs decode whole frames, and filters have tails."""

SAMPLE_BYTES = 4
"""float32."""


@dataclass(frozen=True, slots=True)
class Audio(PlacedItem):
    """A `MediaItem` of an audio file."""

    kind: MediaKind = field(default="audio", init=False)
    dtype: None = field(default=None, init=False)  # its slot holds samples, and no features

    file: OpenAudio
    rule: AudioRule
    """Sample rate and length that the model takes."""
    digest: bytes
    """The level-2 key, 32 bytes: the file, and the rule."""
    salt: bytes = b""
    """Part of its keys: whose audio it is."""

    @classmethod
    def of(
        cls, file: OpenAudio, rule: AudioRule, location: ErrorLocation = NO_LOCATION, *, salt: bytes = b""
    ) -> "Audio":
        """The audio of a file that is within the limits."""
        return cls(file, rule, audio_digest(file.identity, rule, tenant_salt=salt), salt, location=location)

    @property
    def identity(self) -> bytes:
        """The file alone."""
        return self.file.identity

    @property
    def num_tokens(self) -> int:
        """One, or one for so many of its frames; 0 where it is too short for a frame."""
        return self.rule.frames.num_tokens(self.file.info.num_samples)

    @property
    def grid_thw(self) -> GridThw:
        """Its tokens in a row."""
        return (1, 1, self.num_tokens)

    @property
    def max_samples(self) -> int:
        """Most samples that the model takes, at the rule's rate."""
        _, num_samples = self.rule.crop(math.ceil((self.file.info.duration_s + SLACK_S) * self.rule.rate_hz))
        return num_samples

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of the count and of as many samples as there can be."""
        return COUNT.size + SAMPLE_BYTES * self.max_samples

    @property
    def num_stored_bytes(self) -> int:
        """Bytes of the file."""
        return len(self.file.encoded)

    @property
    def sent_as(self) -> SentAs:
        """The file's format; an audio file has no sides."""
        return SentAs(self.file.container, 0, 0)

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of the samples in a slot."""
        samples = samples_of(slot)
        return audio_key(samples.data.cast("B"), self.rule, fingerprint, tenant_salt=self.salt)


def put_samples(samples: NDArray[np.float32], num_bytes: int) -> NDArray[np.uint8]:
    """Build the content of a slot, uint8 `[num_bytes]`.

    Args:
        samples: float32 `[num_samples]`.
        num_bytes: of the slot; what is left after the samples is zero.
    """
    slot = np.zeros(num_bytes, np.uint8)
    slot[: COUNT.size] = np.frombuffer(COUNT.pack(len(samples)), np.uint8)
    slot[COUNT.size : COUNT.size + samples.nbytes] = samples.view(np.uint8)
    return slot


def samples_of(slot: memoryview) -> NDArray[np.float32]:
    """The samples that a slot holds, float32 `[num_samples]`; they lie in the slot itself."""
    (num_samples,) = COUNT.unpack_from(slot)
    return np.frombuffer(slot, np.float32, num_samples, COUNT.size)
