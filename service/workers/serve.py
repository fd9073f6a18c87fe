"""The loop of a decoder process, which gives up all rights once its codecs are loaded.

Memory and processor time are bounded, no file and no socket can be opened, and no core is written. Where the system
has no such limit (macOS does not bound address space), the front's deadline remains.
"""

import contextlib
import ctypes
import math
import os
import resource
import signal
import socket  # noqa: TID251  # a socket pair
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from service.ipc.channel import BlockingChannel
from service.workers.messages import DecodeEnd

SOCKET_FD = 3
_STDERR_FD = 2
_MAX_STDERR_BYTES = 1 << 20

LONG_S = 0.05
"""Tasks that may have taken much memory: from there on giving it back costs little."""

_LIBC = ctypes.CDLL(None)

T = TypeVar("T", bound=msgspec.Struct)


def serve(
    task_type: type[T],
    load_codecs: Callable[[], None],
    decode: Callable[[T, BlockingChannel[T]], tuple[DecodeEnd, memoryview]],
) -> None:
    """Load the codecs, give up all rights, report ready, then decode until the front closes the socket.

    Reads `SOCKET_FD MAX_MEMORY_BYTES CPU_S` from the command line; see `worker_process`.

    Args:
        load_codecs: opens the last files that this process will ever open.
        decode: gives the end of a task and its pixels, as many bytes as the end says; over the channel it may ask for
            parts of a file that is lent.
    """
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
    ):  # these reach the whole group; the front decides when we end
        signal.signal(number, signal.SIG_IGN)
    socket_fd, max_memory_bytes = map(int, sys.argv[-3:-1])
    cpu_s = float(sys.argv[-1])
    load_codecs()
    confine(socket_fd, max_memory_bytes)
    sock = socket.socket(fileno=SOCKET_FD)
    channel = BlockingChannel(sock, task_type)
    channel.send(DecodeEnd(num_bytes=0))
    while (task := channel.receive()) is not None:
        allow_cpu(cpu_s)
        began_s = time.monotonic()
        end, pixels = decode(task, channel)
        if time.monotonic() - began_s > LONG_S:
            give_back_memory()
        channel.send(msgspec.structs.replace(end, num_stderr_bytes=take_stderr_bytes()))
        sock.sendall(pixels)


def give_back_memory() -> None:
    """Give freed memory back to the system, which the allocator keeps otherwise (`malloc_trim` of glibc)."""
    if (trim := getattr(_LIBC, "malloc_trim", None)) is not None:
        trim(0)


def confine(socket_fd: int, max_memory_bytes: int) -> None:
    """Give up everything that decoding does not need; there is no way back.

    Args:
        socket_fd: the only descriptor that is kept, as `SOCKET_FD`. Standard error becomes a file without a name.
        max_memory_bytes: memory beyond what is taken already.
    """
    num_bytes_now = _address_space_bytes()  # a file says so: it cannot be opened later
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), _STDERR_FD)
    if socket_fd != SOCKET_FD:
        os.dup2(socket_fd, SOCKET_FD)
        os.close(socket_fd)
    os.closerange(SOCKET_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _MAX_STDERR_BYTES)
    _limit(resource.RLIMIT_NOFILE, SOCKET_FD + 1)  # descriptors are numbered from 0: there is no number left
    if num_bytes_now is not None:
        _limit(resource.RLIMIT_AS, num_bytes_now + max_memory_bytes)


def allow_cpu(seconds: float) -> None:
    """End this process by a signal when it computes for longer than that from now on.

    Args:
        seconds: processor time; the system counts whole seconds.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds) + 1, hard))


def take_stderr_bytes() -> int:
    """Return the number of bytes written to standard error since the last call."""
    num_bytes = os.fstat(_STDERR_FD).st_size
    if num_bytes:
        os.ftruncate(_STDERR_FD, 0)
        os.lseek(_STDERR_FD, 0, os.SEEK_SET)
    return num_bytes


def _limit(what: int, value: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # this system does not bound it
        resource.setrlimit(what, (value, value))


def _address_space_bytes() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return None
