"""Line 1 again, for video files: broken ones through FFmpeg in its own process, container and frames."""

import asyncio
import random
from functools import cache
from pathlib import Path

from service.decode.av_decoder import VideoDecoder
from service.media.error_location import ErrorLocation
from service.media.item import QWEN3_VL
from service.media.video.video_file import OpenVideo, VideoFile, VideoLimits, check_video, container_of
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.broken_files import try_broken
from tests.video_file import video

LIMITS = VideoLimits(max_pixels=1_000_000)
SIZE = (96, 128)
DEADLINE_S = 5.0
SEED = 24


@cache
def seeds() -> tuple[bytes, ...]:
    """Two containers, four codecs."""
    return (
        video(12),
        video(12, codec="mpeg4"),
        video(6, codec="libvpx-vp9", container="webm"),
        video(6, codec="libvpx", container="webm"),
    )


async def frames_of(decoder: VideoDecoder, encoded: bytes) -> tuple[int, ...]:
    """Shape of the first and the last frame, the way that a request goes."""
    location = ErrorLocation("video_url", 0)
    container = container_of(encoded, location)
    info = await decoder.info(encoded, container, location)
    check_video(info, range(info.num_frames), LIMITS, location)
    clip = VideoFile(OpenVideo(encoded, container, info, b""), SIZE, QWEN3_VL)
    return (await decoder.frames(clip, [0, info.num_frames - 1], location)).shape


async def try_all(size: int) -> Result:
    """Broken videos one after another, through one process for as long as it lives."""
    decoder = VideoDecoder(num_workers=1, max_bytes=128 << 20, deadline_s=DEADLINE_S, max_pixels=LIMITS.max_pixels)

    async def attempt(encoded: bytes) -> str:
        shape = await frames_of(decoder, encoded)
        return "" if shape == (2, *SIZE, 3) else f"frames of shape {shape}"

    return await try_broken(size, random.Random(SEED), seeds(), decoder, attempt, ["video_url"])


@line(
    1,
    "broken video files through FFmpeg (MP4 and WebM, 4 codecs)",
    "frames or 422; 0 processes lost or late",
    sizes=(3_000, 200_000),
)
def run(size: int, folder: Path) -> Result:
    """Try `size` broken videos."""
    return asyncio.run(try_all(size))
