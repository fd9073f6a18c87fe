"""A part of a video file as an item: its times, and the frames of it that the model sees."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from service.ingest.files.source_file import SourceFile
from service.media.container import Container
from service.media.item import FRAMES_OF_PAIR, Size
from service.media.video.video_file import VideoInfo
from service.media.video.video_rule import VideoRule, frames_between

LEAST_REST = 0.1
"""Of a segment's length: a shorter rest of the file belongs to the segment before it."""


@dataclass(frozen=True, slots=True)
class OpenedVideo:
    """A file, and what its container says."""

    file: SourceFile
    container: Container
    info: VideoInfo


@dataclass(frozen=True, slots=True)
class SampledFrames:
    """The frames that the model sees.

    Attributes:
        numbers: in the file, ascending.
        times: of each, seconds from the file's start.
        size: height and width at which they are sent, pixels.
    """

    numbers: tuple[int, ...]
    times: tuple[float, ...]
    size: Size


@dataclass(frozen=True, slots=True)
class VideoSegment:
    """The frames of a file between two times.

    Attributes:
        start_s: None of a whole file.
        end_s: likewise.
        number: of the segment, counted from 1.
        num_segments: of the file.
    """

    video: OpenedVideo
    start_s: float | None = None
    end_s: float | None = None
    number: int = 1
    num_segments: int = 1

    @property
    def file(self) -> SourceFile:
        """The file."""
        return self.video.file

    @property
    def name(self) -> str:
        """The file's name with the times, as W3C's media fragments write them."""
        if self.start_s is None or self.end_s is None:
            return self.file.name
        return f"{self.file.name}#t={_written(self.start_s)},{_written(self.end_s)}"

    @property
    def frames(self) -> range:
        """Numbers of all its frames, as the server counts them."""
        info = self.video.info
        return frames_between(info.num_frames, info.fps, self.start_s, self.end_s)

    def sample(self, rule: VideoRule) -> SampledFrames | None:
        """The frames that a server takes by `rule`; None of a shape so extreme that nothing is left of a side.

        They are sent at the model's size where that is smaller and the server leaves it, else at the file's own.
        """
        info = self.video.info
        numbers = rule.sample_file(self.frames, info.fps)
        own = (info.height, info.width)
        seen = rule.frame_size(*own, len(numbers), of_file=True)
        if 0 in seen:
            return None
        is_left = rule.frame_size(*seen, len(numbers), of_file=True) == seen
        size = seen if is_left and math.prod(seen) < math.prod(own) else own
        return SampledFrames(tuple(numbers), tuple(number / info.fps for number in numbers), size)


def segments(video: OpenedVideo, segment_s: float) -> Iterator[VideoSegment]:
    """A file's segments of `segment_s` each, to the millisecond; the whole for 0.

    The rest is a segment of its own, unless it is shorter than a tenth of one or has fewer than two frames.
    """
    if not segment_s:
        yield VideoSegment(video)
        return
    num_segments = count_segments(video.info, segment_s)
    for number in range(1, num_segments + 1):
        is_last = number == num_segments
        end_s = video.info.duration_s if is_last else number * segment_s
        yield VideoSegment(video, round((number - 1) * segment_s, 3), round(end_s, 3), number, num_segments)


def count_segments(info: VideoInfo, segment_s: float) -> int:
    """Number of segments of a file."""
    num_segments = max(1, math.ceil(info.duration_s / segment_s))
    rest_from_s = (num_segments - 1) * segment_s
    rest = frames_between(info.num_frames, info.fps, rest_from_s, None)
    is_short = info.duration_s - rest_from_s < LEAST_REST * segment_s or len(rest) < FRAMES_OF_PAIR
    return num_segments - 1 if is_short and num_segments > 1 else num_segments


def _written(time_s: float) -> str:
    return f"{time_s:.3f}".rstrip("0").rstrip(".")
