"""A handle on one process, and a place for one at a time: started when it is needed, replaced when it is lost.

Blocking, for one thread at a time; knows no asyncio and no queue. A task whose process dies is tried once more in a new
one, since the process may have been killed for something else.
"""

import contextlib
import os
import select
import signal
import socket  # noqa: TID251  # a socket pair
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

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


NUM_TRIES = 2

T = TypeVar("T")


class WorkerLostError(Exception):
    """The process has ended, or sent something invalid."""


class StoppedError(Exception):
    """The process was stopped by `WorkerSlot.stop`."""


class WorkerKilledError(Exception):
    """Processes were killed from outside, by the kernel when memory is short or an operator; no file is at fault."""


class WorkerStartError(Exception):
    """Processes end by themselves before they have started."""


class WorkerProcess:
    """One process, started at once and waited for at the first task.

    Attributes:
        process: as the system knows it; anybody may ask whether it has ended.
        is_ready: it has loaded its codecs.
    """

    def __init__(self, command: Sequence[str], *, max_memory_bytes: int, cpu_s: float) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
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
    def would_wait(self) -> bool:
        """True while the process still loads its codecs."""
        return not self.is_ready and not select.select([self._sock], [], [], 0)[0]

    @property
    def was_killed(self) -> bool:
        """True when the lost process was killed from outside: an image that crashes it ends it otherwise."""
        try:
            return self.process.wait(_REAPED_S) == -signal.SIGKILL
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
        while (end := self._end(until_s)).wants[1]:
            if lent is None:
                raise WorkerLostError
            self._lend(lent, *end.wants, until_s)
        if end.num_bytes not in (0, num_bytes):
            raise WorkerLostError
        result = np.empty(end.num_bytes, np.uint8)
        self._read(result.data, until_s)
        return end, result

    def end(self) -> None:
        """End the process while another thread waits for it, which then loses it."""
        self.process.kill()

    def kill(self) -> None:
        """End the process."""
        self.process.kill()
        self._sock.close()
        threading.Thread(target=self.process.wait, daemon=True).start()  # giving back memory can take a while

    @property
    def cpu_s(self) -> float:
        """Processor time of the process so far; 0 where the system does not say."""
        if sys.platform != "linux":
            return 0.0
        try:
            return time.clock_gettime(~self.process.pid << 3 | _CPU_CLOCK)
        except OSError:  # it has ended
            return 0.0

    def _private_bytes(self) -> int:
        try:
            fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return (int(fields[1]) - int(fields[2])) * PAGE_BYTES if len(fields) > 2 else 0  # resident, without files

    def _lend(self, lent: BinaryIO, start: int, num_bytes: int, until_s: float) -> None:
        if not 0 <= start < 1 << 62 or not 0 < num_bytes <= MAX_LENT_BYTES:
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


class WorkerSlot:
    """Runs tasks in processes of one program, one after the other; for one thread at a time.

    Attributes:
        worker: the process, if one has been started and not been dropped.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        max_memory_bytes: int,
        deadline_s: float,
        count_replaced: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Give each task `deadline_s` of processor time; `count_replaced` gets the reason when one is given up."""
        self._command = command
        self._max_memory_bytes = max_memory_bytes
        self._deadline_s = deadline_s
        self._count_replaced = count_replaced
        self.worker: WorkerProcess | None = None
        self._stopped_for = ""

    @property
    def would_wait(self) -> bool:
        """True if a task would have to wait for the process to start."""
        return self.worker is None or self.worker.would_wait

    @property
    def num_held_bytes(self) -> int:
        """Memory that the process holds beyond its own; for any thread."""
        return 0 if (worker := self.worker) is None else worker.num_held_bytes

    def start(self) -> None:
        """Start the process now, without waiting for it.

        Raises:
            OSError: the system has no room for it.
        """
        self.worker = WorkerProcess(self._command, max_memory_bytes=self._max_memory_bytes, cpu_s=self._deadline_s)

    def close(self, reason: str = "") -> None:
        """End the process, if there is one, and count it where a reason is given."""
        if self.worker is not None:
            if reason:
                self._count_replaced(reason)
            self.worker.kill()
            self.worker = None

    def stop(self, reason: str) -> None:
        """End the process in the middle of a task, which raises; for any thread."""
        if (worker := self.worker) is not None and worker.is_ready:
            self._stopped_for = reason
            worker.end()

    def replace(self, reason: str) -> None:
        """Start another process in its place, or leave that to the next task where the system has no room now."""
        self.close(reason)
        with contextlib.suppress(OSError):
            self.start()

    def run(self, task: Callable[[WorkerProcess], T]) -> T:
        """Return what `task` makes of a process that is ready; with another process again if it lost the first.

        Raises:
            StoppedError: `stop` was called.
            TimeoutError: it is overdue; its process has been killed.
            OSError: a file that was lent to the process cannot be read.
            WorkerLostError: it ended its process, and that of the second try too.
            WorkerKilledError: its process was killed from outside, and that of the second try too.
            WorkerStartError: processes end by themselves before they have started.
        """
        was_killed = True
        for _ in range(NUM_TRIES):
            worker = self._ready_worker()
            try:
                result = task(worker)
            except WorkerLostError:
                if self._stopped_for:
                    self._replace_stopped()
                    raise StoppedError from None
                was_killed &= worker.was_killed
                self.replace("lost")
            except TimeoutError:
                self.replace("deadline")
                raise
            except OSError:
                self.replace("lost")
                raise
            else:
                if self._stopped_for:  # too late
                    self._replace_stopped()
                return result
        if was_killed:
            raise WorkerKilledError
        raise WorkerLostError

    def _ready_worker(self) -> WorkerProcess:
        """The process, once it has loaded its codecs; one that ended while it was idle is not the next task's fault."""
        if self.worker is not None and self.worker.process.poll() is not None:
            self.close("lost")
        try:
            if self.worker is None:
                self.start()
            assert self.worker is not None  # for the type: `start` has set it, or raised
            self.worker.wait_until_ready()
        except (WorkerLostError, OSError) as error:  # a start that takes too long is an OSError, and so is none at all
            is_ours = isinstance(error, WorkerLostError) and self.worker is not None and not self.worker.was_killed
            self.close("start")
            raise (WorkerStartError if is_ours else WorkerKilledError) from None
        return self.worker

    def _replace_stopped(self) -> None:
        reason, self._stopped_for = self._stopped_for, ""
        self.replace(reason)
