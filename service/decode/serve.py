"""The loop of a decoder's process: tasks in, pixels out, one at a time, without any rights. It ends with its front."""

import signal
import socket  # noqa: TID251  # a socket pair
import sys
from collections.abc import Callable
from typing import TypeVar

import msgspec

from service.decode.confine import SOCKET_FD, allow_cpu, confine, take_stderr_bytes
from service.decode.messages import DecodeEnd
from service.ipc.channel import BlockingChannel

T = TypeVar("T", bound=msgspec.Struct)


def serve(
    task_type: type[T], load_codecs: Callable[[], None], decode: Callable[[T], tuple[DecodeEnd, memoryview]]
) -> None:
    """Load the codecs, give up all rights, say so, then decode until the front goes.

    Reads `SOCKET_FD MAX_MEMORY_BYTES CPU_S` from the command line; see `worker_process`.

    Args:
        task_type: what comes.
        load_codecs: opens the last files that this process will ever open.
        decode: gives the end of a task and its pixels, as many bytes as the end says.
    """
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
    ):  # these reach the whole group; the front decides when we end
        signal.signal(number, signal.SIG_IGN)
    socket_fd, max_memory_bytes = map(int, sys.argv[1:3])
    cpu_s = float(sys.argv[3])
    load_codecs()
    confine(socket_fd, max_memory_bytes)
    sock = socket.socket(fileno=SOCKET_FD)
    channel = BlockingChannel(sock, task_type)
    channel.send(DecodeEnd(num_bytes=0))
    while (task := channel.receive()) is not None:
        allow_cpu(cpu_s)
        end, pixels = decode(task)
        channel.send(msgspec.structs.replace(end, num_stderr_bytes=take_stderr_bytes()))
        sock.sendall(pixels)
