"""Video content parts: a list of frames, or a file. One part is one video.

Frame sampling, resizing and timestamps are the model's, in its profile.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE, EXAMPLE_VIDEO
from schemas.limits import MAX_FPS, MAX_FRAMES, MAX_INT32, MAX_VIDEO_TIME_S, MIN_FPS

Fps = Annotated[float, Meta(ge=MIN_FPS, le=MAX_FPS)]
"""Frames per second."""


Time = Annotated[float, Meta(ge=0, le=MAX_VIDEO_TIME_S)]
"""A time in a video, seconds from its start."""


class VideoFrame(Wire, frozen=True, kw_only=True):
    """One frame of a video: an image file."""

    url: Annotated[
        str,
        Meta(
            description="As the `url` of an `image_url` part: a data URI, the base64 text alone, or a URL where the "
            "server is configured to read it.",
            examples=[EXAMPLE_IMAGE],
        ),
    ]
    time_s: Annotated[
        Time | None,
        Meta(
            description="When the frame is seen, in seconds from the start of the file that it was taken from. All "
            "frames of a video have a time, ascending, or none has. Frames with times are read as those of a "
            "`video_url` file: these times stand in the prompt, and frames are resized once (those of a list without "
            "times twice, as by the model's reference).",
            examples=[12.48],
        ),
    ] = None


class VideoFramesPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="video_frames"):
    """A video as images, all of one size."""

    frames: Annotated[
        Annotated[list[VideoFrame], Meta(min_length=1, max_length=MAX_FRAMES)],
        Meta(
            description="The frames in order. If there are more than the model reads (`max_video_frames` of "
            "`/v1/models`), frames at equal steps are taken and the others are not read. Qwen3-VL reads pairs: the "
            "last of an odd number is paired with itself.",
            examples=[[{"url": EXAMPLE_IMAGE}, {"url": EXAMPLE_IMAGE}]],
        ),
    ]
    fps: Annotated[
        Fps | None,
        Meta(
            description="Frames per second of the list; the prompt's timestamps follow from it. Absent means what the "
            "model's reference assumes: 2, however many frames were left out. Not beside `time_s`.",
            examples=[2.0],
        ),
    ] = None


class VideoUrl(Wire, frozen=True, kw_only=True):
    """The URL of a video file, in vLLM's shape."""

    url: Annotated[
        str,
        Meta(
            description="A data URI of an MP4 or WebM file (`data:video/mp4;base64,...`) or the base64 text alone; the "
            "server needs its extra `video`. `data:video/jpeg;base64,` with the base64 of several images, separated "
            "by commas, is a list of frames and needs no extra. `http`, `https` and `file` URLs are refused unless the "
            "server is configured to read them from their host or directory.",
            examples=[EXAMPLE_VIDEO],
        ),
    ]


VideoSource = VideoUrl | str
"""A video's source: an object with `url`, or the URL itself."""


class VideoUrlPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="video_url"):
    """A video as a file."""

    video_url: Annotated[
        VideoSource,
        Meta(
            description="The video: an object with `url`, or the URL itself as a string.",
            examples=[{"url": EXAMPLE_VIDEO}],
        ),
    ]
    fps: Annotated[
        Fps | None,
        Meta(
            description="Frames to take per second of a file; for `data:video/jpeg`, frames per second of the list. "
            "Absent means what the model's reference does: 1 for files, 2 for lists.",
            examples=[1.0],
        ),
    ] = None
    max_frames: Annotated[
        Annotated[int, Meta(ge=2, le=MAX_INT32)] | None,
        Meta(
            description="Maximum number of frames to take. Absent means the model's own maximum (`max_video_frames` of "
            "`/v1/models`), which also bounds it.",
            examples=[16],
        ),
    ] = None
    start_s: Annotated[
        Time | None,
        Meta(
            description="Take frames of a part of the file that begins here, in seconds; `video_start` of the model's "
            "reference. `fps` and `max_frames` hold for the part; the prompt's timestamps stay those of the whole "
            "file. Absent means its start. Not for lists of frames.",
            examples=[120.0],
        ),
    ] = None
    end_s: Annotated[
        Time | None,
        Meta(
            description="Where that part ends, in seconds, later than `start_s`; a frame at this very time belongs to "
            "it. A time beyond the file's end is its end, and the part must hold two frames. `video_end` of the "
            "model's reference. Absent means the file's end. Not for lists of frames.",
            examples=[130.0],
        ),
    ] = None
