"""Images and videos in requests, for both forms of request."""

from collections.abc import Sequence
from typing import Any

from service.ingest.item import Ask
from service.ingest.sending.images import LoadedImage
from service.ingest.sending.videos import LoadedFrames

LoadedMedia = LoadedImage | LoadedFrames
"""The image or the video of an item."""


def by_instruction(asks: Sequence[Ask]) -> list[list[Ask]]:
    """The asks of each instruction, in order."""
    found: dict[str | None, list[Ask]] = {}
    for ask in asks:
        found.setdefault(ask.instruction, []).append(ask)
    return list(found.values())


def frames_part(frames: LoadedFrames) -> dict[str, Any]:
    """A video as a content part."""
    each = [{"url": url, "time_s": time_s} for url, time_s in zip(frames.urls, frames.times, strict=True)]
    return {"type": "video_frames", "frames": each}
