"""The process that decodes images: bytes in, pixels out, one at a time. It holds no secret.

`python -m service.workers.image_worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by
`service.decode.image_decoder`.
It ends when the front's end of the socket closes, so no worker outlives its front.
"""

import io

from PIL import Image

from service.errors import MediaError
from service.media.image.decode import render
from service.media.image.header import DecodeLimits, Header, read_header
from service.media.item import ImageReadOptions
from service.media.resize.resize import Framing
from service.workers.messages import DecodeEnd, DecodeTask
from service.workers.serve import serve


def main() -> None:
    """Decode until the front closes the socket."""
    serve(DecodeTask, load_codecs, lambda task, _: _decoded(task))


def load_codecs() -> None:
    """Decode one small image of each format: Pillow and libraries load parts of themselves at the first use."""
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP"):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8)).save(buffer, kind)
        encoded = buffer.getvalue()
        render(
            encoded, read_header(encoded, DecodeLimits()), ImageReadOptions((0, 0, 0)), (32, 32), Framing(((32, 32),))
        )


def decode(task: DecodeTask) -> memoryview:
    """The pixels of an image; none when it cannot be decoded, also for want of memory."""
    header = Header(task.format, task.width, task.height, task.orientation)
    try:
        pixels = render(task.encoded, header, ImageReadOptions(task.background), task.size, task.framing)
        return pixels.data.cast("B")
    except (MediaError, MemoryError):
        return memoryview(b"")


def _decoded(task: DecodeTask) -> tuple[DecodeEnd, memoryview]:
    pixels = decode(task)
    return DecodeEnd(num_bytes=len(pixels)), pixels


if __name__ == "__main__":
    main()
