"""Videos among content parts: a list of frames, or a file. One part is one video.

Knows the shape only: which frames are taken, how large they become and when they are said to be seen, is for the
model's profile.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.example_image import EXAMPLE_IMAGE
from schemas.limits import MAX_FPS, MAX_FRAMES, MAX_INT32, MIN_FPS

EXAMPLE_VIDEO = "data:video/jpeg;base64," + EXAMPLE_IMAGE.partition(",")[2]
"""One frame in the form that needs no decoder of files. It says JPEG and is a PNG: only bytes are asked."""

Fps = Annotated[float, Meta(ge=MIN_FPS, le=MAX_FPS)]
"""Frames a second."""


class VideoFrame(Wire, frozen=True, kw_only=True):
    """One frame of a video: a picture file."""

    url: Annotated[
        str,
        Meta(
            description="As the `url` of an `image_url` part: a data URI, the base64 text alone, or a URL where the "
            "server is configured to read it.",
            examples=[EXAMPLE_IMAGE],
        ),
    ]


class VideoFramesPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="video_frames"):
    """A video as pictures, all of one size."""

    frames: Annotated[
        Annotated[list[VideoFrame], Meta(min_length=1, max_length=MAX_FRAMES)],
        Meta(
            description="The frames in order. Of more than the model sees (`max_video_frames` of `/v1/models`) so many "
            "are taken at equal steps, and the others are not read. The last frame of an odd number is seen twice.",
            examples=[[{"url": EXAMPLE_IMAGE}, {"url": EXAMPLE_IMAGE}]],
        ),
    ]
    fps: Annotated[
        Fps | None,
        Meta(
            description="Frames a second of the list. The prompt says when each pair of frames is seen. Absent means "
            "what the model's reference assumes: 2, whatever was left out.",
            examples=[2.0],
        ),
    ] = None


class VideoUrl(Wire, frozen=True, kw_only=True):
    """Where a video file comes from, in vLLM's shape."""

    url: Annotated[
        str,
        Meta(
            description="A data URI of an MP4 or WebM file (`data:video/mp4;base64,...`) or the base64 text alone; the "
            "server needs its extra `video`. `data:video/jpeg;base64,` with the base64 of several pictures, separated "
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
            description="Frames to take of each second of a file; of `data:video/jpeg` frames a second of the list. "
            "Absent means what the model's reference does: 1 for files, 2 for lists.",
            examples=[1.0],
        ),
    ] = None
    max_frames: Annotated[
        Annotated[int, Meta(ge=2, le=MAX_INT32)] | None,
        Meta(
            description="Most frames to take; at most the model's own number, which is what absent means "
            "(`max_video_frames` of `/v1/models`).",
            examples=[16],
        ),
    ] = None
