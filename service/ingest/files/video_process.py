"""A video file in a process that can be killed: what its container says, and frames of it at the model's size.

The process reads the file through its socket: it has no access to the disk, and of a long file no more is in memory
than what is being decoded.
"""

import hashlib
import math
import os
from io import BufferedReader

import numpy as np
from numpy.typing import NDArray

from service.errors import MediaError
from service.ingest.errors import FileError
from service.ingest.files.file_processes import FileProcess, FileProcesses
from service.ingest.files.source_file import SourceFile, open_regular, stamp_of
from service.ingest.files.video_segment import OpenedVideo, SampledFrames, VideoSegment
from service.media.error_location import ErrorLocation
from service.media.video.video_file import UNREADABLE, VideoLimits, check_video, container_of
from service.workers.messages import VideoTask
from service.workers.programs import VIDEOS, has_codecs
from service.workers.worker_process import WorkerProcess

LIMITS = VideoLimits(max_duration_s=math.inf)
"""Of a file: it may be as long as its frames can be counted, and of any size."""
HEAD_BYTES = 4096
"""Of which the container is told."""
OPEN_S, DEADLINE_S = 120.0, 60.0
"""Of reading a file through once, and of the frames of a segment."""


class VideoProcess(FileProcess):
    """A process that reads videos."""

    command = VIDEOS
    what = "video"
    unreadable = UNREADABLE

    def __init__(self) -> None:
        super().__init__(OPEN_S)
        self._lent: BufferedReader | None = None
        self._video: OpenedVideo | None = None

    def opened(self, file: SourceFile) -> OpenedVideo:
        """Return the facts of the container."""
        return self.ask(file, file.name, OPEN_S, lambda _: self._opened())

    def frames(self, segment: VideoSegment, sampled: SampledFrames) -> NDArray[np.uint8]:
        """Frames of a segment: RGB, uint8 [len(sampled.numbers), height, width, 3]."""
        shape = (len(sampled.numbers), *sampled.size, 3)
        task = VideoTask(
            encoded=b"",
            keeps=True,
            container=segment.video.container,
            frames=sampled.numbers,
            size=sampled.size,
            max_pixels=LIMITS.max_pixels,
        )
        num_bytes = math.prod(shape)
        _, pixels = self.ask(
            segment.file,
            segment.name,
            DEADLINE_S,
            lambda worker: worker.exchange(task, num_bytes, DEADLINE_S, lent=self._lent),
        )
        if not len(pixels):
            self.refuse(segment.name, self.unreadable)
        return pixels.reshape(shape)

    def close(self) -> None:
        """End the process."""
        super().close()
        self._give_back()

    def open(self, worker: WorkerProcess, file: SourceFile) -> bytes:
        """Have a process open a file; return the digest of its content."""
        self._give_back()
        self._lent = lent = open_regular(file.path)
        found = os.fstat(lent.fileno())
        if (stamp_of(found), found.st_size) != (file.stamp, file.num_bytes):
            raise FileError("unreadable_file", f"{file.name}: the file changed during the run")
        try:
            container = container_of(os.pread(lent.fileno(), HEAD_BYTES, 0), ErrorLocation())
            task = VideoTask(
                encoded=b"",
                num_lent_bytes=file.num_bytes,
                keeps=True,
                container=container,
                max_pixels=LIMITS.max_pixels,
            )
            end, _ = worker.exchange(task, 0, OPEN_S, lent=lent)
            if end.video is None:
                self.refuse(file.name, self.unreadable)
            check_video(end.video, range(end.video.num_frames), LIMITS, ErrorLocation())
        except MediaError as error:
            raise FileError(error.code, f"{file.name}: {error.message}") from None
        self._video = OpenedVideo(file, container, end.video)
        return hashlib.file_digest(lent, "sha256").digest()

    def _opened(self) -> OpenedVideo:
        assert self._video is not None  # `open` comes first
        return self._video

    def _give_back(self) -> None:
        if self._lent is not None:
            self._lent.close()
            self._lent = None


class VideoProcesses(FileProcesses[VideoProcess]):
    """One for each core, and two at least."""

    def __init__(self) -> None:
        super().__init__(VideoProcess, has_codecs, ("av", "video"))
