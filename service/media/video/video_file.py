"""A video that came as a file: known by content and by what its container says, no frame decoded.

In: encoded bytes, and what a decoder's process has read of them. Out: `VideoFramePair`s, each two frames as one image.
Knows no decoder; which frames are taken is for `video_rule`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from service.media.container import Container, OpenFile, sniff_container
from service.media.error_location import ErrorLocation
from service.media.item import FRAMES_OF_PAIR, GridThw, Patches, SentAs, Size
from service.media.key import pair_key, video_pair_digest
from service.media.video.frame_pair import PairItem

UNREADABLE = "The video cannot be decoded: the file is damaged, cut short, or holds no video that can be read."
MAX_INDEXED_FRAMES = 1 << 20
"""Frames of a file that are counted: almost five hours at 60 a second."""


class VideoInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that a file states about its video."""

    width: int
    """Pixels at which it is shown: turned, and with square pixels."""
    height: int
    num_frames: int
    """Frames that are shown; more than `MAX_INDEXED_FRAMES` were not counted to the end."""
    fps: float
    """Frames a second, on the average."""

    @property
    def duration_s(self) -> float:
        """Duration, seconds."""
        return self.num_frames / self.fps


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoLimits:
    """Limits checked before a frame is decoded.

    Source: docs/notes/security.md.
    """

    max_encoded_bytes: int = 64 << 20
    max_duration_s: float = 600.0
    """Longest video, or part of one, of which frames are taken."""
    max_pixels: int = 33_200_000
    """Largest area of one frame, as shown."""


@dataclass(frozen=True, slots=True)
class OpenVideo(OpenFile[Container, VideoInfo]):
    """A video file whose container has been read."""


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A file, and the size at which the model sees its frames."""

    file: OpenVideo
    size: Size
    """Height and width of each frame, pixels."""
    patches: Patches
    """How they are cut."""
    salt: bytes = b""
    """Part of its keys: whose video it is."""
    is_antialiased: bool = True
    """How frames are resized; see `VideoRule`."""


@dataclass(frozen=True, slots=True)
class VideoFramePair(PairItem):
    """A `MediaItem` of two frames of a file, or of one where the model sees one by one.

    Its digest is of the file, the frames and their size.
    """

    video: VideoFile
    frames: tuple[int, ...]
    """Which of its frames, counted from 0."""

    @property
    def grid_thw(self) -> GridThw:
        """Patches of one frame: both lie on the same."""
        return self.video.patches.grid_thw(*self.video.size)

    @property
    def num_tokens(self) -> int:
        """Visual tokens of both together: those of one image of that size."""
        return self.video.patches.num_tokens(self.grid_thw)

    @property
    def num_slot_bytes(self) -> int:
        """Bytes of the frames' RGB pixels, one after the other."""
        height, width = self.video.size
        return len(self.frames) * height * width * 3

    @property
    def num_stored_bytes(self) -> int:
        """Bytes of the file."""
        return len(self.video.file.encoded)

    @property
    def sent_as(self) -> SentAs:
        """Container and size of the video."""
        return SentAs(self.video.file.container, self.video.file.info.width, self.video.file.info.height)

    def key(self, slot: memoryview, fingerprint: bytes) -> bytes:
        """The level-1 key of the frames' pixels in a slot."""
        num_frames, salt = len(self.frames), self.video.salt
        return pair_key(slot, self.video.size, fingerprint, tenant_salt=salt, num_frames=num_frames)


def container_of(encoded: bytes, location: ErrorLocation) -> Container:
    """Tell the container from the first bytes alone; QuickTime, AVI, Matroska and playlists are refused."""
    found = sniff_container(encoded)
    return found or location.refuse("media_undecodable", "The video is none of the accepted formats: MP4, WebM.")


def check_video(info: VideoInfo, part: range, limits: VideoLimits, location: ErrorLocation) -> None:
    """Refuse what is too large or too long, and what has fewer frames than a pair.

    Args:
        part: numbers of the frames that are asked for, of which some will be taken.
    """
    shape = f"The video is {info.width} x {info.height} pixels"
    if info.width * info.height > limits.max_pixels:
        location.refuse("media_too_large", f"{shape}; at most {limits.max_pixels} in all are accepted.")
    if info.num_frames > MAX_INDEXED_FRAMES:
        location.refuse("media_too_large", f"The video has more than {MAX_INDEXED_FRAMES} frames.")
    if (seconds := len(part) / info.fps) > limits.max_duration_s:
        longer = "The video is" if len(part) == info.num_frames else "The part of the video is"
        message = f"{longer} {seconds:.1f} s long; at most {limits.max_duration_s:g} s are accepted."
        location.refuse("media_too_large", message)
    if info.num_frames < FRAMES_OF_PAIR:
        message = f"The video has {info.num_frames} frame; at least {FRAMES_OF_PAIR} are needed."
        location.refuse("media_undecodable", message)


def held(info: VideoInfo, start_s: float | None, end_s: float | None, num_frames: int) -> str:
    """Return the error of a part of a video that is no pair of frames."""
    between = f"{start_s or 0.0:g} to {info.duration_s if end_s is None else end_s:g} s"
    return (
        f"got {between}, which hold {num_frames} of the video's frames; at least {FRAMES_OF_PAIR} are needed, and it "
        f"has {info.num_frames} in {info.duration_s:g} s"
    )


def video_frame_pairs(
    video: VideoFile, indices: Sequence[int], location: ErrorLocation, frames_of_item: int = FRAMES_OF_PAIR
) -> tuple[VideoFramePair, ...]:
    """Frames of a file in pairs, or one by one."""
    return tuple(
        VideoFramePair(
            video,
            some,
            digest=video_pair_digest(video.file.identity, some, video.size, tenant_salt=video.salt),
            location=location,
        )
        for some in (tuple(indices[i : i + frames_of_item]) for i in range(0, len(indices), frames_of_item))
    )
