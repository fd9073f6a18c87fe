"""A handle on one process: blocking, for one thread at a time. Knows no asyncio and no queue."""

import os
import select
import signal
import socket  # noqa: TID251  # a socket pair
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from service.ipc.channel import frame
from service.ipc.frames import PREFIX
from service.workers.messages import MAX_END_BYTES, MAX_LENT_BYTES, DecodeEnd

START_S = 30.0
"""Longest time that a new process may take to load its codecs."""

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_CPU_CLOCK = 2
"""Of another process, beside its number's complement (`CPUCLOCK_SCHED` of linux/posix-timers.h)."""

_REAPED_S = 1.0
"""Longest time until a process that has closed its socket ends."""

_ENVIRON = ("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH", "LANG", "TMPDIR")
"""Variables that a worker inherits: the whole environment may hold tokens."""


class WorkerLostError(Exception):
    """The process has ended, or sent something invalid."""


class WorkerProcess:
    """One process, started at once and waited for at the first task.

    Attributes:
        is_ready: it has loaded its codecs.
    """

    def __init__(self, command: Sequence[str], *, max_memory_bytes: int, cpu_s: float) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(max_memory_bytes), str(cpu_s)],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is the front's to handle
                env={name: os.environ[name] for name in _ENVIRON if name in os.environ},
            )
        self._sock = ours
        self.is_ready = False
        self._own_bytes = 0

    @property
    def has_ended(self) -> bool:
        """True once the process has ended, for whatever reason."""
        return self._process.poll() is not None

    @property
    def would_wait(self) -> bool:
        """True while the process still loads its codecs."""
        return not self.is_ready and not select.select([self._sock], [], [], 0)[0]

    @property
    def was_killed(self) -> bool:
        """True when the lost process was killed from outside: an image that crashes it ends it otherwise."""
        try:
            return self._process.wait(_REAPED_S) == -signal.SIGKILL
        except subprocess.TimeoutExpired:
            return False

    def wait_until_ready(self) -> None:
        """Return when the process has loaded its codecs.

        Raises:
            WorkerLostError: it ended before.
            TimeoutError: it is not ready in time.
        """
        if not self.is_ready:
            self._end(time.monotonic() + START_S)
            self._own_bytes = self._private_bytes()
            self.is_ready = True

    @property
    def num_held_bytes(self) -> int:
        """Memory beyond what the process needs for itself; 0 until it is ready, and where the system does not say."""
        return max(0, self._private_bytes() - self._own_bytes) if self.is_ready else 0

    def exchange(
        self, task: msgspec.Struct, num_bytes: int, deadline_s: float, lent: BinaryIO | None = None
    ) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Have a task done, which gives `num_bytes` bytes; none where the file cannot be decoded.

        Args:
            lent: a file of which the process gets the parts that it asks for.

        Raises:
            OSError: the lent file cannot be read.
            WorkerLostError: the process ended meanwhile.
            TimeoutError: it has not answered in time.
        """
        until_s = time.monotonic() + deadline_s
        self._sock.settimeout(deadline_s)
        try:
            self._sock.sendall(frame(task))
        except (BrokenPipeError, ConnectionResetError):
            raise WorkerLostError from None
        while (end := self._end(until_s)).wants is not None:
            self._lend(lent, *end.wants, until_s)
        if end.num_bytes not in (0, num_bytes):
            raise WorkerLostError
        result = np.empty(end.num_bytes, np.uint8)
        self._read(result.data, until_s)
        return end, result

    def end(self) -> None:
        """End the process while another thread waits for it, which then loses it."""
        self._process.kill()

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._sock.close()
        threading.Thread(target=self._process.wait, daemon=True).start()  # giving back memory can take a while

    @property
    def cpu_s(self) -> float:
        """Processor time of the process so far; 0 where the system does not say."""
        if sys.platform != "linux":
            return 0.0
        try:
            return time.clock_gettime(~self._process.pid << 3 | _CPU_CLOCK)
        except OSError:  # it has ended
            return 0.0

    def _private_bytes(self) -> int:
        try:
            fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return (int(fields[1]) - int(fields[2])) * PAGE_BYTES if len(fields) > 2 else 0  # resident, without files

    def _lend(self, lent: BinaryIO | None, start: int, num_bytes: int, until_s: float) -> None:
        if lent is None or not 0 <= start < 1 << 62 or not 0 < num_bytes <= MAX_LENT_BYTES:
            raise WorkerLostError
        content = os.pread(lent.fileno(), num_bytes, start)
        self._sock.settimeout(max(0.001, until_s - time.monotonic()))
        try:
            self._sock.sendall(content.ljust(num_bytes, b"\0"))  # the file may have become shorter
        except (BrokenPipeError, ConnectionResetError):
            raise WorkerLostError from None

    def _end(self, until_s: float) -> DecodeEnd:
        prefix = bytearray(PREFIX.size)
        self._read(memoryview(prefix), until_s)
        num_bytes = int.from_bytes(prefix, "little")
        if num_bytes > MAX_END_BYTES:
            raise WorkerLostError
        body = bytearray(num_bytes)
        self._read(memoryview(body), until_s)
        try:
            return msgspec.msgpack.decode(body, type=DecodeEnd)
        except msgspec.MsgspecError:
            raise WorkerLostError from None

    def _read(self, view: memoryview, until_s: float) -> None:
        while view:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self._sock.settimeout(left_s)
            try:
                num_bytes = self._sock.recv_into(view)
            except ConnectionResetError:
                raise WorkerLostError from None
            if num_bytes == 0:
                raise WorkerLostError
            view = view[num_bytes:]
