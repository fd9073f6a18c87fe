"""Frames of the video files of one load: each file is decoded once, for all of its pairs that are wanted together."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.clips import ClipDecoder
from service.media.blame import Blame
from service.media.clip import ClipPair
from service.media.picture import Picture

Key = tuple[bytes, tuple[int, int], bytes]
"""A file at one size, for one tenant."""


class ClipFrames:
    """The frames that a load needs, file by file."""

    def __init__(self, decoder: ClipDecoder | None, items: Sequence[Picture]) -> None:
        """Begin to decode what `items` need; without pairs of files there is nothing to do, and no decoder needed."""
        pairs: dict[Key, list[ClipPair]] = {}
        for item in items:
            if isinstance(item, ClipPair):
                pairs.setdefault(_key(item), []).append(item)
        self._numbers = {key: sorted({i for pair in some for i in pair.frames}) for key, some in pairs.items()}
        self._decoding: dict[Key, asyncio.Task[NDArray[np.uint8]]] = {}
        for key, some in pairs.items():
            assert decoder is not None  # no file is opened without one
            blame = Blame(some[0].param, some[0].index)
            self._decoding[key] = asyncio.create_task(decoder.frames(some[0].clip, self._numbers[key], blame))
            metrics.VIDEOS_DECODED.inc()

    async def pixels(self, pair: ClipPair) -> NDArray[np.uint8]:
        """Both frames of a pair, `[2, height, width, 3]`.

        Raises:
            MediaError: `media_undecodable`.
        """
        key = _key(pair)
        frames = await asyncio.shield(self._decoding[key])
        return frames[[self._numbers[key].index(i) for i in pair.frames]]

    def close(self) -> None:
        """Nobody waits any more."""
        for task in self._decoding.values():
            task.cancel()
            task.add_done_callback(_read)


def _read(task: "asyncio.Task[NDArray[np.uint8]]") -> None:
    if not task.cancelled():
        task.exception()  # read once: nobody may have waited for it, and asyncio would complain


def _key(pair: ClipPair) -> Key:
    return pair.clip.file.identity, pair.clip.size, pair.clip.salt
