"""The process that decodes video or audio files: FFmpeg, with access to no network and no file.

`python -m service.workers.av_worker video|audio SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by
`service.decode.av_decoder`. Needs the extra `video` or `audio`.
"""

import base64
import io
import sys
from typing import Any

import av
import av.logging
import numpy as np
from msgspec import structs

from schemas.content.examples import EXAMPLE_WAV
from service.ipc.channel import BlockingChannel
from service.media.audio.samples import put_samples
from service.media.item import AudioRule
from service.media.resize.antialias import resize_antialiased
from service.media.resize.resize import by_pillow
from service.workers import audio_reader, video_reader
from service.workers.container_reader import UnreadableFileError
from service.workers.lent_file import LentFile
from service.workers.messages import AudioTask, DecodeEnd, VideoTask
from service.workers.serve import serve

_SIDE = 64


def main() -> None:
    """Decode until the front closes the socket."""
    av.logging.set_level(av.logging.PANIC)
    if sys.argv[1] == "video":
        serve(VideoTask, load_video_codecs, Files().decode)
    else:
        serve(AudioTask, load_audio_codecs, Files().decode)


def load_video_codecs() -> None:
    """Write and read one small file: libraries load parts of themselves at the first use."""
    encoded = _sample_video()
    video_reader.read_info(encoded, "mp4", max_pixels=_SIDE**2)
    frames = video_reader.read_frames(encoded, "mp4", [0, 1], (32, 32), max_pixels=_SIDE**2)
    by_pillow(frames[0], (16, 16))


def load_audio_codecs() -> None:
    """Read one small file, for the same reason."""
    encoded = base64.b64decode(EXAMPLE_WAV)
    audio_reader.read_info(encoded, "wav", 1.0)
    audio_reader.read_samples(encoded, "wav", AudioRule(rate_hz=48_000), 48_000)


class Files:
    """Does tasks, and holds the video file that the last one said to keep."""

    def __init__(self) -> None:
        self._kept: video_reader.OpenVideoFile | None = None

    def decode(self, task: VideoTask | AudioTask, channel: BlockingChannel[Any]) -> tuple[DecodeEnd, memoryview]:
        """Container facts, or the frames or samples asked for; neither when the file cannot be read."""
        try:
            return self._decode_video(task, channel) if isinstance(task, VideoTask) else _decode_audio(task)
        except Exception:  # noqa: BLE001  # FFmpeg has an error class for each of its codes, and Python's own come too
            return DecodeEnd(num_bytes=0), memoryview(b"")

    def _decode_video(self, task: VideoTask, channel: BlockingChannel[Any]) -> tuple[DecodeEnd, memoryview]:
        file, self._kept = self._kept, None
        if task.encoded or task.num_lent_bytes:
            if file is not None:
                file.close()
            content = task.encoded or LentFile(channel, task.num_lent_bytes)
            file = video_reader.OpenVideoFile(content, task.container)
        if file is None:
            raise UnreadableFileError
        try:
            if not task.frames:
                return DecodeEnd(num_bytes=0, video=file.info(max_pixels=task.max_pixels)), memoryview(b"")
            resize = resize_antialiased if task.is_antialiased else by_pillow
            frames = file.frames(task.frames, task.size, max_pixels=task.max_pixels, resize=resize)
            return DecodeEnd(num_bytes=frames.nbytes), frames.data.cast("B")
        finally:
            if task.keeps:
                self._kept = file
            else:
                file.close()


def _decode_audio(task: AudioTask) -> tuple[DecodeEnd, memoryview]:
    if task.rule is None or not task.num_slot_bytes:
        info = audio_reader.read_info(task.encoded, task.format, task.max_duration_s)
        if task.rule is not None and info.duration_s <= task.max_duration_s:  # else it will be refused
            num_samples = audio_reader.count_samples(task.encoded, task.format, task.rule)
            info = structs.replace(info, num_samples=num_samples)
        return DecodeEnd(num_bytes=0, audio=info), memoryview(b"")
    samples = audio_reader.read_samples(task.encoded, task.format, task.rule, task.max_samples)
    slot = put_samples(samples, task.num_slot_bytes)
    return DecodeEnd(num_bytes=slot.nbytes), slot.data.cast("B")


def _sample_video() -> bytes:
    """Two gray frames in MPEG-4, which every build of FFmpeg can write."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as file:
        stream = file.add_stream("mpeg4", rate=2)
        stream.width = stream.height = _SIDE
        stream.pix_fmt = "yuv420p"
        frame = np.full((_SIDE, _SIDE, 3), 128, np.uint8)
        for _ in range(2):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        file.mux(stream.encode(None))
    return buffer.getvalue()


if __name__ == "__main__":
    main()
