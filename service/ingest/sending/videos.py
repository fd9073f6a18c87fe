"""Videos of items as requests have them: the frames that the model sees, with their times, so that no file is sent."""

import base64
from dataclasses import dataclass

from service.ingest.errors import FailureReason, FileError
from service.ingest.sending.images import png
from service.ingest.videos.video_process import VideoProcesses
from service.ingest.videos.video_segment import VideoSegment
from service.media.video.video_rule import VideoRule

FRAME_BYTES = 64
"""Of a frame in a body, besides its image."""


@dataclass(frozen=True, slots=True)
class LoadedFrames:
    """The frames of a video as a request has them.

    Attributes:
        urls: the base64 of each frame's PNG.
        times: seconds from the file's start.
        file_digest: SHA-256 of the file.
    """

    urls: tuple[str, ...]
    times: tuple[float, ...]
    file_digest: bytes


@dataclass(frozen=True, slots=True)
class VideoLoader:
    """Takes frames out of files.

    Attributes:
        rule: which frames the model sees; None of one that takes no video.
        refusal: why it takes none.
        max_bytes: of the frames of one video.
    """

    rule: VideoRule | None
    refusal: str
    max_bytes: int
    processes: VideoProcesses

    def load(self, segment: VideoSegment) -> LoadedFrames:
        """The frames of a segment. Blocks.

        Raises:
            FileError: the model takes no video, the file is damaged there, or the frames are too large for a request.
        """
        if self.rule is None:
            raise FileError(FailureReason("unsupported_modality", f"{segment.name}: {self.refusal}"))
        sampled = segment.sample(self.rule)
        if sampled is None:
            info = segment.video.info
            message = f"{segment.name}: a video of {info.width} x {info.height} pixels has too extreme a shape"
            raise FileError(FailureReason("media_too_large", message))
        with self.processes.process(segment.file) as process:
            pixels, digest = process.frames(segment, sampled), process.digest
        urls = tuple(base64.b64encode(png(frame)).decode() for frame in pixels)
        if (num_bytes := sum(map(len, urls)) + len(urls) * FRAME_BYTES) > self.max_bytes:
            message = (
                f"{segment.name}: its {len(urls)} frames are {num_bytes} bytes, and the server takes requests of at "
                f"most {self.max_bytes}; shorter segments (--segment-s) have fewer frames"
            )
            raise FileError(FailureReason("media_too_large", message))
        return LoadedFrames(urls, sampled.times, digest)
