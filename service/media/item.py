"""A medium as prompts, shared memory and the engine's client carry it, whatever it came as.

An `ImageFile` (a file, to be decoded), a `FramePair` (two frames of a video), an `Audio` or a `FeaturesItem` (features
that were computed before). This module knows none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from service.media.error_location import NO_LOCATION, ErrorLocation

MERGE_SIZE = 2
"""Patches along one side of a visual token: at factor 32 a patch is 16 x 16 pixels."""

PATCH_SIZE = 16
"""Pixels along one side of a patch."""

FRAMES_OF_PAIR = 2
"""Frames of a video that become one item: the vision tower's temporal patch."""

TensorDtype = Literal["float32", "float16", "bfloat16"]
"""By torch's names."""

ITEM_BYTES: Mapping[TensorDtype, int] = {"float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of one number."""


Size = tuple[int, int]
"""Height and width in pixels, in this order."""

MediaKind = Literal["image", "video", "audio"]
"""Kinds of media that models take; a video comes as pairs of frames, each an item of its own."""

GridThw = tuple[int, int, int]
"""Size in patches before merging: temporal, height, width."""


@dataclass(frozen=True, slots=True)
class Patches:
    """Patch and token sizes of a model; the defaults are Qwen3-VL's."""

    patch_size: int = PATCH_SIZE
    """Pixels along one side of a patch."""
    merge_size: int | None = MERGE_SIZE
    """Patches along one side of a visual token; None where a whole image becomes one token."""

    def grid_thw(self, height: int, width: int) -> GridThw:
        """The grid of an image whose sides are whole patches, pixels."""
        return (1, height // self.patch_size, width // self.patch_size)

    @property
    def formula(self) -> str:
        """Of `num_tokens`, for errors."""
        return "1" if self.merge_size is None else f"T x H x W / {self.merge_size**2}"

    def num_tokens(self, grid_thw: GridThw) -> int:
        """Visual tokens of a grid: ``T · H · W / merge_size²``, or 1."""
        if self.merge_size is None:
            return 1
        frames, rows, columns = grid_thw
        return frames * rows * columns // self.merge_size**2


QWEN3_VL = Patches()


Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

Background = Color | Literal["stored", "reference"]
"""The color under transparent pixels; `stored` keeps what the file holds there, `reference` is Qwen3-VL's rule."""


@dataclass(frozen=True, slots=True)
class ImageReadOptions:
    """Options of reading a file; the defaults read it as the reference does."""

    background: Background = "reference"
    """The color where an image is transparent, in every mode; by `reference` white under RGBA, else the stored one."""
    upright: bool = False
    """The EXIF orientation is applied. The reference embeds a photo as it is stored."""

    @property
    def key_part(self) -> bytes:
        """Bytes that no other reading has."""
        parts = {"stored": b"stored", "reference": b""}
        color = parts[self.background] if isinstance(self.background, str) else bytes(self.background)
        return bytes([self.upright]) + color


AS_REFERENCE = ImageReadOptions()


def parse_color(text: str) -> Color:
    """`#rrggbb` as a color.

    Args:
        text: a number sign and six hexadecimal digits, as the schema has checked.
    """
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioFrames:
    """The frames of audio that become tokens."""

    reach: int = 0
    """Samples after the place of a frame that have to be there."""
    hop: int = 0
    """Samples from one frame to the next; 0: all of the audio is one token."""
    of_token: int = 1
    """Frames of a token; the last one may have fewer."""

    def num_tokens(self, num_samples: int) -> int:
        """``ceil(frames / of_token)`` with ``frames = (num_samples - 1 - reach) // hop + 1``, or 1."""
        if not self.hop:
            return 1
        num_frames = max(0, num_samples - 1 - self.reach + self.hop) // self.hop
        return -(-num_frames // self.of_token)


ONE_TOKEN = AudioFrames()
"""Of a tower whose features are one vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioRule:
    """The rule of a family for the sample rate and the length of audio; all are part of an audio file's keys."""

    rate_hz: int
    """Samples a second."""
    crop_samples: int = 0
    """Longer audio is cropped to so many samples; 0 keeps all."""
    keeps_start: bool = False
    """The crop is at the start, and not in the middle."""
    frames: AudioFrames = ONE_TOKEN
    """Of which tokens are made."""

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """All numbers; frames where they count."""
        frames = (self.frames.reach, self.frames.hop, self.frames.of_token) if self.frames.hop else ()
        numbers = (self.rate_hz, self.crop_samples, *((1,) if self.keeps_start else ()), *frames)
        return tuple(number.to_bytes(8, "little") for number in numbers)

    def crop(self, num_samples: int) -> tuple[int, int]:
        """The first sample and the number of samples kept: ``start = (num_samples - crop_samples) // 2``, or 0.

        transformers takes a random place. One that is always the same keeps a vector the same, and audio cached.

        Source: transformers 5.23 `ClapFeatureExtractor._get_input_mel`, "rand_trunc".
        """
        if not self.crop_samples or num_samples <= self.crop_samples:
            return 0, num_samples
        if self.keeps_start:
            return 0, self.crop_samples
        return (num_samples - self.crop_samples) // 2, self.crop_samples


@dataclass(frozen=True, slots=True)
class SentAs:
    """Format and size of an image, for answers."""

    format: str
    """Of the file, in lower case; `image_embeds` when it came as features."""
    width: int
    """Pixels, as sent; of features the grid's."""
    height: int


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """Base of the `MediaItem`s: which place of a request it is in; items at other places are equal."""

    location: ErrorLocation = field(default=NO_LOCATION, compare=False, kw_only=True)

    def at(self, location: ErrorLocation) -> Self:
        """The same item in another place of a request."""
        return replace(self, location=location)
