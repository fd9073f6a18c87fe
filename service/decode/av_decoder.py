"""Decoders of video and audio files: container facts, frames and samples, always in processes that can be killed.

Processes start with the first file; FFmpeg never runs in the front, which does not import PyAV.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from service.decode.isolated import IsolatedDecoder
from service.media.audio.audio_file import AudioContainer, AudioInfo
from service.media.audio.samples import SAMPLE_BYTES, SLACK_S, Audio
from service.media.container import Container
from service.media.error_location import ErrorLocation
from service.media.item import AudioRule
from service.media.video.video_file import UNREADABLE, VideoFile, VideoInfo
from service.workers import programs
from service.workers.messages import AudioTask, VideoTask

BYTES_PER_PIXEL = 32
"""Memory of a decode per pixel of a frame: a codec's reference frames, one in RGB, and the resize."""

NUM_SAMPLE_COPIES = 3
"""Copies of the samples in memory: as decoded, joined, and in the slot."""


ONE_RATE = AudioRule(rate_hz=1)
"""Of a model whose audio is one token, however many samples it has."""


class VideoDecoder(IsolatedDecoder):
    """Container facts and frames of video files, within a budget and a deadline."""

    command = programs.VIDEOS
    what = "video"
    unreadable = UNREADABLE

    def __init__(self, *, num_workers: int, max_bytes: int, deadline_s: float, max_pixels: int) -> None:
        super().__init__(num_workers=num_workers, max_bytes=max_bytes, deadline_s=deadline_s)
        self._max_pixels = max_pixels

    async def info(self, encoded: bytes, container: Container, location: ErrorLocation) -> VideoInfo:
        """Read what a file's container says of its video."""
        task = VideoTask(encoded=encoded, container=container, max_pixels=self._max_pixels)
        end, _ = await self.run(task, 0, location, num_bytes=len(encoded), cost=len(encoded))
        return end.video or location.refuse("media_undecodable", self.unreadable)

    async def frames(self, video: VideoFile, frames: Sequence[int], location: ErrorLocation) -> NDArray[np.uint8]:
        """Decode frames of a file at the model's size: RGB, uint8 [len(frames), height, width, 3].

        Args:
            frames: their numbers, ascending, each once.
        """
        file = video.file
        task = VideoTask(
            encoded=file.encoded,
            container=file.container,
            frames=tuple(frames),
            size=video.size,
            is_antialiased=video.is_antialiased,
            max_pixels=self._max_pixels,
        )
        shape = (len(frames), *video.size, 3)
        num_bytes = file.info.width * file.info.height * BYTES_PER_PIXEL + len(file.encoded)
        cost = num_bytes * len(frames)
        _, pixels = await self.run(task, int(np.prod(shape)), location, num_bytes=num_bytes, cost=cost)
        return pixels.reshape(shape)


class AudioDecoder(IsolatedDecoder):
    """Container facts and samples of audio files, within a budget and a deadline."""

    command = programs.AUDIO
    what = "audio"
    unreadable = "The audio cannot be decoded: the file is damaged, cut short, or holds no audio that can be read."

    def __init__(self, *, num_workers: int, max_bytes: int, deadline_s: float, max_duration_s: float) -> None:
        super().__init__(num_workers=num_workers, max_bytes=max_bytes, deadline_s=deadline_s)
        self._max_duration_s = max_duration_s

    async def info(
        self, encoded: bytes, container: AudioContainer, location: ErrorLocation, rule: AudioRule = ONE_RATE
    ) -> AudioInfo:
        """Read what a file's container says of its audio.

        Args:
            rule: by which its samples are counted where tokens follow from them.
        """
        counted = rule if rule.frames.hop else None
        task = AudioTask(encoded=encoded, format=container, rule=counted, max_duration_s=self._max_duration_s)
        end, _ = await self.run(task, 0, location, num_bytes=len(encoded), cost=len(encoded))
        return end.audio or location.refuse("media_undecodable", self.unreadable)

    async def slot(self, audio: Audio) -> NDArray[np.uint8]:
        """Decode what an audio file's slot holds, uint8 `[num_slot_bytes]`: the number of samples, then the samples."""
        file = audio.file
        task = AudioTask(
            encoded=file.encoded,
            format=file.container,
            rule=audio.rule,
            max_samples=int((file.info.duration_s + SLACK_S) * audio.rule.rate_hz),
            num_slot_bytes=audio.num_slot_bytes,
        )
        num_bytes = task.max_samples * SAMPLE_BYTES * NUM_SAMPLE_COPIES + len(task.encoded)
        _, slot = await self.run(task, task.num_slot_bytes, audio.location, num_bytes=num_bytes, cost=num_bytes)
        return slot
