"""A decoder's process: bytes of pictures in, pixels out, one at a time. It has nothing that is worth taking.

`python -m service.decode.worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by `service.decode.worker_process` and by
nobody else. It ends when the front's end of the socket closes, so no worker outlives its front.
"""

import io

from PIL import Image

from service.decode.messages import DecodeEnd, DecodeTask
from service.decode.serve import serve
from service.errors import MediaError
from service.media.header import DecodeLimits, Header, read_header
from service.media.pixels import render
from service.media.reading import Reading


def main() -> None:
    """Decode until the front goes."""
    serve(DecodeTask, load_codecs, _decoded)


def load_codecs() -> None:
    """Decode one small picture of each format: Pillow and libraries load parts of themselves at the first use."""
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP"):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8)).save(buffer, kind)
        encoded = buffer.getvalue()
        render(encoded, read_header(encoded, DecodeLimits()), Reading((0, 0, 0)), (32, 32))


def decode(task: DecodeTask) -> memoryview:
    """The pixels of a picture; none when it cannot be decoded, also for want of memory."""
    header = Header(task.format, task.width, task.height, task.orientation)
    try:
        pixels = render(task.encoded, header, Reading(task.background), task.size, framing=task.framing)
        return pixels.data.cast("B")
    except (MediaError, MemoryError):
        return memoryview(b"")


def _decoded(task: DecodeTask) -> tuple[DecodeEnd, memoryview]:
    pixels = decode(task)
    return DecodeEnd(num_bytes=len(pixels)), pixels


if __name__ == "__main__":
    main()
