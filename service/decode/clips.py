"""Video files in processes that can be killed, always: whatever decodes pictures, FFmpeg never runs in the front.

Processes start with the first video. The front imports nothing of PyAV; it only looks whether it is there.
"""

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from service.decode.isolated import IsolatedWork
from service.decode.messages import ClipTask
from service.fairness.room import FairRoom
from service.media.blame import Blame
from service.media.clip import Clip, ClipInfo
from service.media.container import Container

COMMAND = (sys.executable, "-P", "-m", "service.decode.clip_worker")

UNREADABLE = "The video cannot be decoded: the file is damaged, cut short, or holds no video that can be read."

BYTES_PER_PIXEL = 32
"""Memory of a decode for each pixel of a frame: the pictures that a codec refers to, one in RGB, and the resize."""


class ClipDecoder:
    """What video files say, and frames of them, within a budget and a deadline."""

    def __init__(
        self,
        *,
        num_workers: int,
        max_bytes: int,
        deadline_s: float,
        max_pixels: int,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._max_pixels = max_pixels
        self._work = IsolatedWork(
            command,
            what="video",
            unreadable=UNREADABLE,
            num_workers=num_workers,
            max_bytes=max_bytes,
            deadline_s=deadline_s,
        )

    @property
    def room(self) -> FairRoom:
        """For what is being decoded."""
        return self._work.room

    async def info(self, encoded: bytes, container: Container, blame: Blame) -> ClipInfo:
        """What a file says of its video.

        Raises:
            MediaError: `media_undecodable`.
        """
        task = ClipTask(encoded=encoded, container=container, max_pixels=self._max_pixels)
        return await self._work.run(len(encoded), partial(self._info, task, blame))

    async def frames(self, clip: Clip, frames: Sequence[int], blame: Blame) -> NDArray[np.uint8]:
        """Frames of a file at the model's size.

        Args:
            clip: the file.
            frames: which, ascending, each once.
            blame: its place, for errors.

        Returns:
            RGB, uint8 [len(frames), height, width, 3].

        Raises:
            MediaError: `media_undecodable`.
        """
        task = ClipTask(
            encoded=clip.file.encoded,
            container=clip.file.container,
            frames=tuple(frames),
            size=clip.size,
            max_pixels=self._max_pixels,
        )
        shape = (len(frames), *clip.size, 3)
        num_bytes = clip.file.info.width * clip.file.info.height * BYTES_PER_PIXEL + len(clip.file.encoded)
        return await self._work.run(num_bytes, partial(self._frames, task, shape, blame), times=len(frames))

    def close(self) -> None:
        """End the processes that are idle; nobody may decode any more."""
        self._work.close()

    def _info(self, task: ClipTask, blame: Blame) -> ClipInfo:
        end, _ = self._work.ask(task, 0, blame)
        return end.clip or blame.refuse("media_undecodable", UNREADABLE)

    def _frames(self, task: ClipTask, shape: tuple[int, ...], blame: Blame) -> NDArray[np.uint8]:
        _, pixels = self._work.ask(task, int(np.prod(shape)), blame)
        if pixels is None:
            blame.refuse("media_undecodable", UNREADABLE)
        return pixels.reshape(shape)
