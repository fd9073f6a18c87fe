"""The fields about videos of a model's entry in `/v1/models`: all null for models that take none."""

from typing import Annotated

from msgspec import Meta

MaxVideoFrames = Annotated[
    int | None,
    Meta(
        description="Most frames of one video that the model reads; null for models that take no video.",
        examples=[64],
    ),
]
MinVideoFrames = Annotated[
    int | None, Meta(description="Fewest frames taken of a file that has so many; null as above.", examples=[4])
]
VideoFps = Annotated[
    float | None,
    Meta(
        description="Frames taken of each second of a file, where a request does not say; null as above.",
        examples=[1.0],
    ),
]
MinVideoFramePixels = Annotated[
    int | None, Meta(description="A frame with fewer pixels is enlarged; null as above.", examples=[16384])
]
MaxVideoFramePixels = Annotated[
    int | None, Meta(description="A frame with more pixels is shrunk; null as above.", examples=[16384])
]
MaxVideoPixels = Annotated[
    int | None,
    Meta(
        description="Most pixels of all frames of a file, a pair counting once: each frame has its share, but not less "
        "than 1.05 times `min_video_frame_pixels`. Null as above.",
        examples=[7864320],
    ),
]
VideoSizeFactor = Annotated[
    int | None, Meta(description="Height and width of a frame are multiples of it; null as above.", examples=[32])
]
MaxVideoBytes = Annotated[
    int | None,
    Meta(
        description="Largest video file, in bytes; null where files are not taken: the model takes no video, or the "
        "server lacks its extra `video`. Lists of frames need neither.",
        extra_json_schema={"format": "int64"},
        examples=[67108864],
    ),
]
