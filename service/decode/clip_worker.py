"""A video decoder's process: as `worker`, with FFmpeg in it, which reads no network and no file.

`python -m service.decode.clip_worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by `service.decode.clips` and by nobody
else. It needs the extra `video`.
"""

import io

import av
import av.logging
import numpy as np

from service.decode.clip_reader import read_frames, read_info
from service.decode.messages import ClipTask, DecodeEnd
from service.decode.serve import serve

_SIDE = 64


def main() -> None:
    """Decode until the front goes."""
    serve(ClipTask, load_codecs, decode)


def load_codecs() -> None:
    """Write and read one small file: libraries load parts of themselves at the first use."""
    av.logging.set_level(av.logging.PANIC)
    encoded = _sample()
    read_info(encoded, "mp4")
    read_frames(encoded, "mp4", [0, 1], (32, 32), max_pixels=_SIDE**2)


def decode(task: ClipTask) -> tuple[DecodeEnd, memoryview]:
    """What the container says, or the frames that are asked for; neither when the file cannot be read."""
    nothing = memoryview(b"")
    try:
        if not task.frames:
            return DecodeEnd(num_bytes=0, clip=read_info(task.encoded, task.container)), nothing
        frames = read_frames(task.encoded, task.container, task.frames, task.size, max_pixels=task.max_pixels)
        return DecodeEnd(num_bytes=frames.nbytes), frames.data.cast("B")
    except Exception:  # noqa: BLE001  # FFmpeg has an error class for each of its codes, and Python's own come too
        return DecodeEnd(num_bytes=0), nothing


def _sample() -> bytes:
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
