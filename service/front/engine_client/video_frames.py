"""Frames of the video files of one load: each file is decoded once, for all of its pairs that are wanted together."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.av_decoder import VideoDecoder
from service.media.error_location import ErrorLocation
from service.media.video.video_file import VideoFramePair

Key = tuple[bytes, tuple[int, int], bytes]
"""A file at one size, for one tenant."""


class VideoFrames:
    """The frames that a load needs, file by file."""

    def __init__(self, decoder: VideoDecoder | None, pairs: Sequence[VideoFramePair]) -> None:
        """Begin to decode what `pairs` need."""
        assert decoder is not None  # no file is opened without one
        files: dict[Key, list[VideoFramePair]] = {}
        for pair in pairs:
            files.setdefault(_key(pair), []).append(pair)
        self._numbers = {key: sorted({i for pair in some for i in pair.frames}) for key, some in files.items()}
        self._decoding: dict[Key, asyncio.Task[NDArray[np.uint8]]] = {}
        for key, some in files.items():
            location = ErrorLocation(some[0].param, some[0].index)
            self._decoding[key] = asyncio.create_task(decoder.frames(some[0].video, self._numbers[key], location))
            metrics.VIDEOS_DECODED.inc()

    async def pixels(self, pair: VideoFramePair) -> NDArray[np.uint8]:
        """Both frames of a pair, `[2, height, width, 3]`.

        Raises:
            MediaError: `media_undecodable`.
        """
        key = _key(pair)
        frames = await asyncio.shield(self._decoding[key])
        return frames[[self._numbers[key].index(i) for i in pair.frames]]

    def close(self, _: object) -> None:
        """Cancel what is still decoding, once those who wait for it have ended: a callback of theirs."""
        for task in self._decoding.values():
            task.cancel()
            task.add_done_callback(_read)


def _read(task: "asyncio.Task[NDArray[np.uint8]]") -> None:
    if not task.cancelled():
        task.exception()  # marked as read: asyncio would warn if no task had waited for it


def _key(pair: VideoFramePair) -> Key:
    return pair.video.file.identity, pair.video.size, pair.video.salt
