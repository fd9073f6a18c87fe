"""A video that came as a file: known by content and by what its container says, no frame decoded.

In: encoded bytes, and what a decoder's process has read of them. Out: `ClipPair`s, each two frames as one picture.
Knows no decoder; which frames are taken is for `video_rule`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from service.media.blame import Blame
from service.media.container import Container, sniff_container
from service.media.key import clip_pair_digest, pair_key
from service.media.picture import FRAMES_OF_PAIR, GridThw, Patches, SentAs, Size


class ClipInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a container says of its video."""

    width: int
    height: int
    num_frames: int
    """As many as there are to show."""
    fps: float
    """Frames a second, on the average."""

    @property
    def duration_s(self) -> float:
        """How long it is."""
        return self.num_frames / self.fps


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipLimits:
    """What is refused before a frame is decoded.

    Source: reference/security-reliability.md section 3, "Video".
    """

    max_encoded_bytes: int = 64 << 20
    max_duration_s: float = 600.0
    max_pixels: int = 33_200_000
    """Of one frame, as stored."""


@dataclass(frozen=True, slots=True)
class OpenClip:
    """A file whose container has been read.

    Attributes:
        encoded: the bytes of the file.
        container: which reader of containers it is for.
        info: what the container says.
        identity: the file alone, 32 bytes.
    """

    encoded: bytes = field(repr=False, compare=False)
    container: Container
    info: ClipInfo
    identity: bytes


@dataclass(frozen=True, slots=True)
class Clip:
    """A file, and the size at which the model sees its frames.

    Attributes:
        file: what it is.
        size: height and width of each frame, pixels.
        patches: how they are cut.
        salt: part of its keys: whose video it is.
    """

    file: OpenClip
    size: Size
    patches: Patches
    salt: bytes = b""


@dataclass(frozen=True, slots=True)
class ClipPair:
    """A `Picture` of two frames of a file.

    Attributes:
        clip: the file.
        frames: which two of its frames, counted from 0.
        digest: the level-2 key, 32 bytes: the file, the two frames and their size.
        param: path of the field it came from, for errors.
        index: input of the batch it belongs to, for errors.
    """

    clip: Clip
    frames: tuple[int, int]
    digest: bytes
    param: str | None = field(default=None, compare=False)
    index: int | None = field(default=None, compare=False)

    @property
    def identity(self) -> bytes:
        """The digest: no client has a name for a pair."""
        return self.digest

    @property
    def grid_thw(self) -> GridThw:
        """Patches of one frame: both lie on the same."""
        return self.clip.patches.grid_thw(*self.clip.size)

    @property
    def num_tokens(self) -> int:
        """Visual tokens of both together: those of one picture of that size."""
        return self.clip.patches.num_tokens(self.grid_thw)

    @property
    def num_frames(self) -> int:
        """2."""
        return FRAMES_OF_PAIR

    @property
    def dtype(self) -> None:
        """None: its slot holds pixels."""
        return

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of both frames' RGB pixels, one after the other."""
        height, width = self.clip.size
        return FRAMES_OF_PAIR * height * width * 3

    @property
    def num_stored_bytes(self) -> int:
        """Bytes of the file."""
        return len(self.clip.file.encoded)

    @property
    def sent_as(self) -> SentAs:
        """Container and size of the video."""
        return SentAs(self.clip.file.container, self.clip.file.info.width, self.clip.file.info.height)

    def at(self, param: str | None, index: int | None) -> "ClipPair":
        """The same pair in another place of a request; see `Picture.at`."""
        return replace(self, param=param, index=index)

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of both frames' pixels in a slot; see `Picture.key`."""
        return pair_key(slot, self.clip.size, fingerprint, tenant_salt=self.clip.salt)


def container_of(encoded: bytes, blame: Blame) -> Container:
    """Tell the container from the first bytes and nothing else.

    Raises:
        MediaError: `media_undecodable` for any other, QuickTime, AVI, Matroska and playlists among it.
    """
    found = sniff_container(encoded)
    return found or blame.refuse("media_undecodable", "The video is none of the accepted formats: MP4, WebM.")


def check_clip(info: ClipInfo, limits: ClipLimits, blame: Blame) -> None:
    """Refuse what is too large or too long, and what has fewer frames than a pair.

    Raises:
        MediaError: `media_too_large`, `media_undecodable`.
    """
    shape = f"The video is {info.width} x {info.height} pixels"
    if info.width * info.height > limits.max_pixels:
        blame.refuse("media_too_large", f"{shape}; at most {limits.max_pixels} in all are accepted.")
    if info.duration_s > limits.max_duration_s:
        message = f"The video is {info.duration_s:.1f} s long; at most {limits.max_duration_s:g} s are accepted."
        blame.refuse("media_too_large", message)
    if info.num_frames < FRAMES_OF_PAIR:
        message = f"The video has {info.num_frames} frame; at least {FRAMES_OF_PAIR} are needed."
        blame.refuse("media_undecodable", message)


def clip_pairs(clip: Clip, indices: Sequence[int], blame: Blame) -> tuple[ClipPair, ...]:
    """Frames of a file in pairs.

    Args:
        clip: the file.
        indices: of the frames, an even number, ascending.
        blame: the file's place, for errors.
    """
    pairs = zip(indices[::2], indices[1::2], strict=True)
    return tuple(ClipPair(clip, two, _digest(clip, two), blame.param, blame.index) for two in pairs)


def _digest(clip: Clip, two: tuple[int, int]) -> bytes:
    return clip_pair_digest(clip.file.identity, two, clip.size, tenant_salt=clip.salt)
