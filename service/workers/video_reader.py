"""Video files by PyAV, the extra `video`: what a container says, and single frames of it. Runs in a worker's process.

In: a file, whole or lent. Out: numbers, or RGB frames at the model's size. A frame's number is its place in the order
of showing, as the packets' times give it; frames are found by the nearest keyframe before them. Each is turned by its
own display matrix, and all have the size at which the first is shown, with square pixels, as the ffmpeg command has it.
Edit lists' speed, crops that the container alone states, and audio are passed over.

Source: docs/notes/qwen3-vl-embedding.md; qwen-vl-utils 0.0.14.
"""

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from schemas.limits import MAX_FPS, MIN_FPS
from service.media.container import Container
from service.media.item import Size
from service.media.resize.antialias import resize_antialiased
from service.media.video.video_file import MAX_INDEXED_FRAMES, VideoInfo
from service.workers.container_reader import Content, UnreadableFileError, ends_inside, open_container
from service.workers.shown_frame import SQUARE, shown_pixels, shown_size

Resize = Callable[[NDArray[np.uint8], Size], NDArray[np.uint8]]
"""RGB pixels to those of another height and width."""


@dataclass(frozen=True, slots=True)
class _Index:
    """Times of a file's frames in the stream's own unit, ascending: all of them, and those where decoding can begin."""

    times: NDArray[np.int64]
    keys: NDArray[np.int64]


class OpenVideoFile:
    """A file whose packets have been counted, and whose frames can be taken one task after another."""

    def __init__(self, content: Content, container: Container) -> None:
        """Open a file; every packet is read, and none decoded."""
        if ends_inside(content, container):
            raise UnreadableFileError
        self._opened = open_container(content, container)
        try:
            self._stream = _video(self._opened)
            self._index = _index(self._opened, self._stream)
            self._fps = _fps(self._stream, self._index)
        except BaseException:
            self._opened.close()
            raise

    def info(self, *, max_pixels: int) -> VideoInfo:
        """Read the facts of the file. Its first frame is decoded, since turns may stand in the codec's messages alone.

        Args:
            max_pixels: of a larger frame its size is told as it is stored.
        """
        context = self._stream.codec_context
        height, width = context.height, context.width
        if height * width <= max_pixels:  # else it will be refused
            (first,) = _at(self._opened, self._stream, self._index, [int(self._index.times[0])])
            height, width = shown_size(first, _pixel_shape(self._stream))
        return VideoInfo(width=width, height=height, num_frames=len(self._index.times), fps=self._fps)

    def frames(
        self, frames: Sequence[int], size: Size, *, max_pixels: int, resize: Resize = resize_antialiased
    ) -> NDArray[np.uint8]:
        """Single frames as they are shown, resized once, as the family's reference resizes those of a file.

        Args:
            frames: their numbers, ascending.
            max_pixels: a larger frame is an error: the container said otherwise.

        Returns:
            RGB, uint8 [len(frames), height, width, 3].

        Raises:
            UnreadableFileError: it cannot be read, or has fewer frames.
        """
        times = self._index.times
        if not 0 <= frames[0] <= frames[-1] < len(times):
            raise UnreadableFileError
        found = np.empty((len(frames), *size, 3), np.uint8)
        wanted = [int(times[i]) for i in frames]
        pixel_shape = _pixel_shape(self._stream)
        for place, frame in enumerate(_at(self._opened, self._stream, self._index, wanted)):
            if math.prod(shown_size(frame, pixel_shape)) > max_pixels:
                raise UnreadableFileError
            found[place] = resize(shown_pixels(frame, pixel_shape), size)
        return found

    def close(self) -> None:
        """Give the file back."""
        self._opened.close()


def read_info(encoded: bytes, container: Container, *, max_pixels: int) -> VideoInfo:
    """Read the facts of a whole file about its video."""
    with closing(OpenVideoFile(encoded, container)) as file:
        return file.info(max_pixels=max_pixels)


def read_frames(
    encoded: bytes, container: Container, frames: Sequence[int], size: Size, *, max_pixels: int
) -> NDArray[np.uint8]:
    """Frames of a whole file; see `OpenVideoFile.frames`."""
    with closing(OpenVideoFile(encoded, container)) as file:
        return file.frames(frames, size, max_pixels=max_pixels)


def _video(opened: InputContainer) -> VideoStream:
    if not opened.streams.video:
        raise UnreadableFileError
    stream = opened.streams.video[0]
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    if not stream.codec_context.width or not stream.codec_context.height:
        raise UnreadableFileError
    return stream


def _pixel_shape(stream: VideoStream) -> Fraction:
    """Width of a stored pixel over its height: the container's, else the codec's; 1 where neither says."""
    return Fraction(stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio or SQUARE)


def _index(opened: InputContainer, stream: VideoStream) -> _Index:
    times, keys, num_packets = array("q"), array("q"), 0
    for packet in opened.demux(stream):
        if not packet.size:  # the end
            continue
        num_packets += 1
        if packet.is_corrupt:
            raise UnreadableFileError
        if packet.pts is not None and not packet.is_discard:
            times.append(packet.pts)
            if packet.is_keyframe:
                keys.append(packet.pts)
        if num_packets > MAX_INDEXED_FRAMES:
            break
    is_cut = num_packets < min(stream.frames, MAX_INDEXED_FRAMES)  # MP4 says how many there are
    if is_cut or not times:
        raise UnreadableFileError
    return _Index(np.unique(np.frombuffer(times, np.int64)), np.unique(np.frombuffer(keys, np.int64)))


def _fps(stream: VideoStream, index: _Index) -> float:
    """The container's own average, or what the times come to."""
    said = stream.average_rate or Fraction(0)
    span = int(index.times[-1] - index.times[0]) * (stream.time_base or Fraction(0))
    fps = float(said) if MIN_FPS <= said <= MAX_FPS else float((len(index.times) - 1) / span) if span else 0.0
    if len(index.times) == 1:
        return fps or 1.0
    if not MIN_FPS <= fps <= MAX_FPS:
        raise UnreadableFileError
    return fps


def _at(opened: InputContainer, stream: VideoStream, index: _Index, times: Sequence[int]) -> Iterator[VideoFrame]:
    """The frames shown at these times, ascending; from each keyframe on, decoding goes through once."""
    shown: int | None = None
    decoded: Iterator[VideoFrame] = iter(())
    for time in times:
        place = int(np.searchsorted(index.keys, time, side="right"))
        key = int(index.keys[place - 1] if place else index.times[0])  # the nearest before
        if shown is None or key > shown:
            opened.seek(key, stream=stream)
            decoded = opened.decode(stream)
        frame = next((one for one in decoded if one.pts is not None and one.pts >= time), None)
        if frame is None:
            raise UnreadableFileError
        shown = frame.pts
        yield frame
