"""A decoder's process: bytes of pictures in, pixels out, one at a time. It has nothing that is worth taking.

`python -m service.decode.worker SOCKET_FD MAX_MEMORY_BYTES CPU_S`, started by `service.decode.worker_process` and by
nobody else. It ends when the front's end of the socket closes, so no worker outlives its front.
"""

import io
import signal
import socket  # noqa: TID251  # a socket pair
import sys

from PIL import Image

from service.decode.confine import SOCKET_FD, allow_cpu, confine, take_stderr_bytes
from service.decode.messages import DecodeEnd, DecodeTask
from service.errors import MediaError
from service.ipc.channel import BlockingChannel
from service.media.header import DecodeLimits, Header, read_header
from service.media.pixels import render
from service.media.reading import Reading


def main() -> None:
    """Load the codecs, give up all rights, say so, then decode until the front goes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # these reach the whole group; the front decides when we end
        signal.signal(number, signal.SIG_IGN)
    socket_fd, max_memory_bytes = map(int, sys.argv[1:3])
    cpu_s = float(sys.argv[3])
    load_codecs()
    confine(socket_fd, max_memory_bytes)
    sock = socket.socket(fileno=SOCKET_FD)
    channel = BlockingChannel(sock, DecodeTask)
    channel.send(DecodeEnd(num_bytes=0))
    while (task := channel.receive()) is not None:
        allow_cpu(cpu_s)
        pixels = decode(task)
        channel.send(DecodeEnd(num_bytes=len(pixels), num_stderr_bytes=take_stderr_bytes()))
        sock.sendall(pixels)


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


if __name__ == "__main__":
    main()
