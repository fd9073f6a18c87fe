"""Video files that tests draw, by PyAV: every frame tells its number by its color."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np

from tests.conftest import data_uri

GOP = 12
STEP = 5
"""Gray levels from one frame to the next."""


def video(
    num_frames: int = 50,
    *,
    codec: str = "libx264",
    container: str = "mp4",
    fps: int = 25,
    size: tuple[int, int] = (96, 128),
    degrees: int = 0,
    pixel_shape: Fraction | None = None,
) -> bytes:
    """A file of so many frames, with keyframes among them and frames that refer to later ones.

    Args:
        degrees: by which its container says that they are shown, counterclockwise.
        pixel_shape: width of a pixel over its height.
    """
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as file:
        stream = file.add_stream(codec, rate=fps)
        stream.height, stream.width = size
        stream.pix_fmt, stream.gop_size = "yuv420p", GOP
        if pixel_shape is not None:
            stream.codec_context.sample_aspect_ratio = pixel_shape
        if degrees:
            stream.set_display_rotation(degrees)
        stream.options = {"bf": "2", "crf": "5"} if codec == "libx264" else {}
        for number in range(num_frames):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(drawn(number, size), format="rgb24")))
        file.mux(stream.encode(None))
    return buffer.getvalue()


def drawn(number: int, size: tuple[int, int] = (96, 128)) -> np.ndarray:
    pixels = np.full((*size, 3), number * STEP % 256, np.uint8)
    pixels[:, : number * 2 % size[1]] = 255 - number * STEP % 256
    return pixels


def decoded(encoded: bytes, container: str = "mp4") -> list[np.ndarray]:
    """All frames from the first to the last: what single frames must be equal to."""
    with av.open(io.BytesIO(encoded), format=container) as file:
        return [np.asarray(frame.to_ndarray(format="rgb24")) for frame in file.decode(video=0)]


def video_part(encoded: bytes, kind: str = "mp4", **fields: Any) -> dict[str, Any]:
    url = data_uri(encoded, kind).replace("data:image/", "data:video/", 1)
    return {"type": "video_url", "video_url": {"url": url}, **fields}


def soundtrack() -> bytes:
    """An MP4 file without a video: a moment of silence."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as file:
        stream = file.add_stream("aac", rate=48_000)
        silence = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), format="fltp", layout="stereo")
        silence.sample_rate = 48_000
        file.mux(stream.encode(silence))
        file.mux(stream.encode(None))
    return buffer.getvalue()
