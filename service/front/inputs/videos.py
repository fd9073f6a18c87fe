"""The videos of one request: from content parts to pairs of frames and their times.

Runs in a worker thread, as images are read. Decodes no pixel: frames are known by their headers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.content.video import VideoFramesPart, VideoUrlPart
from schemas.limits import MAX_FRAMES
from service.errors import InputError
from service.front.inputs.checking import refuse_modality
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.opened_files import opened_file
from service.front.job import PlacedMedia, VideoPart
from service.media.error_location import ErrorLocation
from service.media.item import FRAMES_OF_PAIR
from service.media.media_item import Video
from service.media.video.frame_list import open_frames
from service.media.video.video_file import OpenVideo, VideoFile, VideoInfo, held, video_frame_pairs
from service.media.video.video_rule import FPS_OF_LIST, VideoRule, frames_between, item_times

JPEG_LIST = "data:video/jpeg;base64,"
"""vLLM's form of a list of frames: what follows is the base64 of each, separated by commas."""
_AS_DATA = "data:image/jpeg;base64,"
"""Before each of them: so it is data, and never a URL."""

NO_CODECS = (
    "got a video file, which this server cannot read without its extra `video` (`pip install -e '.[video]'`); it takes "
    "videos as `video_frames`, or as frames in `data:video/jpeg;base64,`"
)


@dataclass(frozen=True, slots=True)
class FrameList:
    """The frames of a list that the model takes.

    Attributes:
        params: the path of each.
        times: of each, in seconds, where the client has said so: these are frames of a file; else empty.
    """

    params: Sequence[str]
    urls: Sequence[str]
    indices: Sequence[int]
    times: Sequence[float] = ()

    def times_s(self, fps: float, frames_of_item: int) -> tuple[float, ...]:
        """Return the time of each item: by its frames' times, or at `fps` frames a second of the whole list.

        Without a rate, 0, the reference counts the frames that it took, as if they were all.
        """
        if self.times:
            times = list(self.times)
            return item_times(times + times[-1:] * (len(times) % frames_of_item), 1.0, frames_of_item)
        indices = list(range(len(self.indices))) if not fps else list(self.indices)
        if len(indices) % frames_of_item:
            indices.append(indices[-1] + 1)
        return item_times(indices, fps or FPS_OF_LIST, frames_of_item)


def read_video(reader: MediaReader, place: PlacedMedia) -> Video:
    """Return the video of a part.

    Args:
        reader: of the request's media: frames are read as its images are.

    Raises:
        MediaError: a frame is at fault, or the frames differ in size.
        InputError: the model takes no video, or not so many frames.
    """
    part = place.part
    assert isinstance(part, VideoPart)  # the caller has checked
    rule = _rule(reader, place)
    if is_file(place):
        return _of_file(reader, rule, place)
    listed = frame_list(place, rule)
    locations = [ErrorLocation(param, place.index) for param in listed.params]
    encoded = [reader.encoded(url, location) for url, location in zip(listed.urls, locations, strict=True)]
    are_of_file = bool(listed.times)
    pairs = open_frames(
        encoded, locations, reader.limits, rule, options=reader.options, salt=reader.salt, are_of_file=are_of_file
    )
    return Video(pairs, listed.times_s(part.fps or 0.0, rule.frames_of_item))


def is_file(place: PlacedMedia) -> bool:
    """Return whether a part is a video file, and neither a list of frames nor an image."""
    return isinstance(place.part, VideoUrlPart) and place.url[: len(JPEG_LIST)].lower() != JPEG_LIST


def frame_list(place: PlacedMedia, rule: VideoRule) -> FrameList:
    """Return the frames of a list that the model takes.

    Args:
        place: of a video part that is not a file.
        rule: samples the frames.

    Raises:
        InputError: `too_many_inputs`.
    """
    part = place.part
    if isinstance(part, VideoFramesPart):
        indices = rule.sample_list(len(part.frames))
        params = [f"{place.param}.frames[{i}].url" for i in indices]
        times = _times(part, place)
        taken = [times[i] for i in indices] if times else []
        return FrameList(params, [part.frames[i].url for i in indices], indices, taken)
    assert isinstance(part, VideoUrlPart)  # there are no others
    for name, given in (("start_s", part.start_s), ("end_s", part.end_s)):
        if given is not None:
            message = f"`{place.param}.{name}`: expected of a file alone; of a list send the frames that are wanted"
            raise InputError("invalid_request", message, param=f"{place.param}.{name}", index=place.index)
    url = place.url
    num_frames = url.count(",")  # the first stands before them
    if num_frames > MAX_FRAMES:
        message = f"`{place.content_param}`: expected at most {MAX_FRAMES} frames, got {num_frames}"
        raise InputError("too_many_inputs", message, param=place.content_param, index=place.index)
    frames = url[len(JPEG_LIST) :].split(",")
    indices = rule.sample_list(len(frames), part.max_frames)
    return FrameList([place.content_param] * len(indices), [_AS_DATA + frames[i] for i in indices], indices)


def _of_file(reader: MediaReader, rule: VideoRule, place: PlacedMedia) -> Video:
    part, location = place.part, ErrorLocation(place.content_param, place.index)
    assert isinstance(part, VideoUrlPart)  # as above
    opened = opened_file(reader, place, OpenVideo, NO_CODECS)
    info = opened.info
    indices = rule.sample_file(_frames_of(part, info, place), info.fps, part.fps, part.max_frames)
    size = rule.frame_size(info.height, info.width, len(indices), of_file=True)
    if 0 in size:
        shape = f"The video is {info.width} x {info.height} pixels"
        location.refuse("media_too_large", f"{shape}: so extreme a shape would leave it a side of 0.")
    video = VideoFile(opened, size, rule.patches, reader.salt, rule.is_antialiased)
    num_each = rule.frames_of_item
    return Video(video_frame_pairs(video, indices, location, num_each), item_times(indices, info.fps, num_each))


def _frames_of(part: VideoUrlPart, info: VideoInfo, place: PlacedMedia) -> range:
    """Numbers of the frames between `start_s` and `end_s`."""
    start_s, end_s = part.start_s, part.end_s
    frames = frames_between(info.num_frames, info.fps, start_s, end_s)
    if len(frames) < FRAMES_OF_PAIR:
        param = f"{place.param}.{'end_s' if start_s is None else 'start_s'}"
        message = f"`{param}`: {held(info, start_s, end_s, len(frames))}"
        raise InputError("invalid_request", message, param=param, index=place.index)
    return frames


def _times(part: VideoFramesPart, place: PlacedMedia) -> list[float]:
    """The frames' times, if they have any."""
    times = [frame.time_s for frame in part.frames if frame.time_s is not None]
    if not times:
        return []
    param, message = f"{place.param}.frames", ""
    if len(times) < len(part.frames):
        number = next(i for i, frame in enumerate(part.frames) if frame.time_s is None)
        param, message = f"{param}[{number}].time_s", "got no time, and other frames have one; all have, or none"
    elif (late := next((i for i in range(1, len(times)) if times[i] < times[i - 1]), None)) is not None:
        param = f"{param}[{late}].time_s"
        message = f"got {times[late]:g} s after {times[late - 1]:g} s, expected times that ascend"
    elif part.fps is not None:
        param, message = f"{place.param}.fps", "got a rate beside the frames' own times; expected one of both"
    if message:
        raise InputError("invalid_request", f"`{param}`: {message}", param=param, index=place.index)
    return times


def _rule(reader: MediaReader, place: PlacedMedia) -> VideoRule:
    part, rule = place.part, reader.profile.images.video_rule if reader.profile.images else None
    if rule is None:
        refuse_modality("a video", reader.profile.modalities, place.param, place.index)
    if isinstance(part, VideoUrlPart) and part.max_frames is not None and part.max_frames > rule.max_frames:
        param = f"{place.param}.max_frames"
        message = f"`{param}`: got {part.max_frames}, expected 2 to {rule.max_frames}"
        raise InputError("invalid_request", message, param=param, index=place.index)
    if isinstance(part, VideoUrlPart) and part.end_s is not None and part.end_s <= (part.start_s or 0.0):
        param = f"{place.param}.end_s"
        message = f"`{param}`: got {part.end_s:g}, expected more than `start_s`, {part.start_s or 0.0:g}"
        raise InputError("invalid_request", message, param=param, index=place.index)
    return rule
