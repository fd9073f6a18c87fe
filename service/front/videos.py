"""The videos of one request: from content parts to pairs of frames and their times.

Runs in a worker thread, as pictures are read. Decodes no pixel: frames are known by their headers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.content import ImageUrlPart
from schemas.limits import MAX_FRAMES
from schemas.video import VideoFramesPart, VideoUrlPart
from service.errors import InputError, MediaError
from service.front.modality import refuse_modality
from service.front.pictures import PictureReader
from service.front.place import Place, VideoPart
from service.media.blame import Blame
from service.media.clip import Clip, clip_pairs
from service.media.frame_list import open_frames
from service.media.video import Video
from service.media.video_rule import FPS_OF_LIST, VideoRule, pair_times

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
    """The frames of a list that the model will see.

    Attributes:
        places: each as the place of a picture that is given by its URL alone.
        urls: their sources.
        indices: which of the list they are, ascending.
    """

    places: Sequence[Place]
    urls: Sequence[str]
    indices: Sequence[int]

    @classmethod
    def of(cls, place: Place, params: Sequence[str], urls: Sequence[str], indices: Sequence[int]) -> "FrameList":
        """Those of a part at `place`."""
        pairs = zip(params, urls, strict=True)
        bare = [Place(param, place.index, ImageUrlPart(image_url=url), is_bare=True) for param, url in pairs]
        return cls(bare, urls, indices)

    def times_s(self, fps: float | None) -> tuple[float, ...]:
        """When each pair is seen. Without a rate the reference counts the frames that it took, as if they were all.

        Args:
            fps: frames a second of the whole list; None where the client did not say.
        """
        indices = list(range(len(self.indices))) if fps is None else list(self.indices)
        if len(indices) % 2:
            indices.append(indices[-1] + 1)
        return pair_times(indices, fps or FPS_OF_LIST)


def read_video(reader: PictureReader, place: Place) -> Video:
    """The video of a part.

    Args:
        reader: of the request's pictures: frames are read as those are.
        place: of the part.

    Raises:
        MediaError: a frame is at fault, or the frames differ in size.
        InputError: the model takes no video, or not so many frames.
    """
    part = place.part
    assert isinstance(part, VideoPart)  # whoever asks has looked
    rule = _rule(reader, place)
    if is_file(place):
        return _of_file(reader, rule, place)
    listed = frame_list(place, rule)
    blames = [Blame(one.param, one.index) for one in listed.places]
    sources = zip(listed.urls, listed.places, strict=True)
    encoded = [reader.encoded(url, one.param, one.index) for url, one in sources]
    pairs = open_frames(encoded, blames, reader.limits, rule, reading=reader.reading, salt=reader.salt)
    return Video(pairs, listed.times_s(part.fps))


def is_file(place: Place) -> bool:
    """Whether a part is a video's file, and neither a list of frames nor a picture."""
    return isinstance(place.part, VideoUrlPart) and url_of(place)[: len(JPEG_LIST)].lower() != JPEG_LIST


def frame_list(place: Place, rule: VideoRule) -> FrameList:
    """The frames of a list, sampled.

    Args:
        place: of a video's part that is no file.
        rule: which are seen.

    Raises:
        InputError: `too_many_inputs`.
    """
    part = place.part
    if isinstance(part, VideoFramesPart):
        indices = rule.sample_list(len(part.frames))
        params = [f"{place.param}.frames[{i}].url" for i in indices]
        return FrameList.of(place, params, [part.frames[i].url for i in indices], indices)
    assert isinstance(part, VideoUrlPart)  # there are no others
    url = url_of(place)
    num_frames = url.count(",")  # the first stands before them
    if num_frames > MAX_FRAMES:
        message = f"`{place.content_param}`: expected at most {MAX_FRAMES} frames, got {num_frames}"
        raise InputError("too_many_inputs", message, param=place.content_param, index=place.index)
    frames = url[len(JPEG_LIST) :].split(",")
    indices = rule.sample_list(len(frames), part.max_frames)
    return FrameList.of(place, [place.content_param] * len(indices), [_AS_DATA + frames[i] for i in indices], indices)


def url_of(place: Place) -> str:
    """The source of a `video_url` part, whichever of its two forms it has."""
    assert isinstance(place.part, VideoUrlPart)  # a list of frames has many
    source = place.part.video_url
    return source if isinstance(source, str) else source.url


def _of_file(reader: PictureReader, rule: VideoRule, place: Place) -> Video:
    part, blame = place.part, Blame(place.content_param, place.index)
    assert isinstance(part, VideoUrlPart)  # as above
    opened = reader.clips.get(place.param)
    if opened is None:
        raise InputError("invalid_request", f"`{blame.param}`: {NO_CODECS}", param=blame.param, index=blame.index)
    if isinstance(opened, MediaError):
        blame.refuse(opened.code, opened.message)
    info = opened.info
    indices = rule.sample_file(info.num_frames, info.fps, part.fps, part.max_frames)
    size = rule.frame_size(info.height, info.width, len(indices), of_file=True)
    if 0 in size:
        shape = f"The video is {info.width} x {info.height} pixels"
        blame.refuse("media_too_large", f"{shape}: so extreme a shape would leave it a side of 0.")
    clip = Clip(opened, size, rule.patches, reader.salt)
    return Video(clip_pairs(clip, indices, blame), pair_times(indices, info.fps))


def _rule(reader: PictureReader, place: Place) -> VideoRule:
    part, rule = place.part, reader.video_rule
    if rule is None:
        refuse_modality("a video", reader.modalities, place.param, place.index)
    if isinstance(part, VideoUrlPart) and part.max_frames is not None and part.max_frames > rule.max_frames:
        param = f"{place.param}.max_frames"
        message = f"`{param}`: got {part.max_frames}, expected 2 to {rule.max_frames}"
        raise InputError("invalid_request", message, param=param, index=place.index)
    return rule
