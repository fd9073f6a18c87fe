"""A place for one process at a time: started when it is needed, replaced when it is lost.

A task whose process dies is tried once more in a new one, since the process may have been killed for something else.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from service.workers.worker_process import WorkerLostError, WorkerProcess

NUM_TRIES = 2

T = TypeVar("T")


class StoppedError(Exception):
    """The process was stopped by `WorkerSlot.stop`."""


class WorkerKilledError(Exception):
    """Processes were killed from outside, by the kernel when memory is short or an operator; no file is at fault."""


class WorkerStartError(Exception):
    """Processes end by themselves before they have started."""


def _count_nothing(reason: str) -> None:
    pass


class WorkerSlot:
    """Runs tasks in processes of one program, one after the other; for one thread at a time."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        max_memory_bytes: int,
        deadline_s: float,
        count_replaced: Callable[[str], None] = _count_nothing,
    ) -> None:
        """Give each task `deadline_s` of processor time; `count_replaced` gets the reason when one is given up."""
        self._command = command
        self._max_memory_bytes = max_memory_bytes
        self._deadline_s = deadline_s
        self._count_replaced = count_replaced
        self._worker: WorkerProcess | None = None
        self._stopped_for: str | None = None

    @property
    def has_process(self) -> bool:
        """True if a process has been started and not been dropped."""
        return self._worker is not None

    @property
    def would_wait(self) -> bool:
        """True if a task would have to wait for the process to start."""
        return self._worker is None or self._worker.would_wait

    @property
    def num_held_bytes(self) -> int:
        """Memory that the process holds beyond its own; for any thread."""
        return 0 if (worker := self._worker) is None else worker.num_held_bytes

    def start(self) -> None:
        """Start the process now, without waiting for it.

        Raises:
            OSError: the system has no room for it.
        """
        self._worker = WorkerProcess(self._command, max_memory_bytes=self._max_memory_bytes, cpu_s=self._deadline_s)

    def close(self) -> None:
        """End the process, if there is one."""
        self._drop()

    def stop(self, reason: str) -> None:
        """End the process in the middle of a task, which raises; for any thread."""
        if (worker := self._worker) is not None and worker.is_ready:
            self._stopped_for = reason
            worker.end()

    def replace(self, reason: str) -> None:
        """Start another process in its place, or leave that to the next task where the system has no room now."""
        self._drop(reason)
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
                if self._has_stopped():
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
                self._has_stopped()  # too late
                return result
        if was_killed:
            raise WorkerKilledError
        raise WorkerLostError

    def _ready_worker(self) -> WorkerProcess:
        """The process, once it has loaded its codecs; one that ended while it was idle is not the next task's fault."""
        if self._worker is not None and self._worker.has_ended:
            self._drop("lost")
        try:
            if self._worker is None:
                self.start()
            assert self._worker is not None  # for the type: `start` has set it, or raised
            self._worker.wait_until_ready()
        except (WorkerLostError, OSError) as error:  # a start that takes too long is an OSError, and so is none at all
            is_ours = isinstance(error, WorkerLostError) and self._worker is not None and not self._worker.was_killed
            self._drop("start")
            raise (WorkerStartError if is_ours else WorkerKilledError) from None
        return self._worker

    def _has_stopped(self) -> bool:
        """True if the process was stopped; another is started then."""
        reason, self._stopped_for = self._stopped_for, None
        if reason is not None:
            self.replace(reason)
        return reason is not None

    def _drop(self, reason: str | None = None) -> None:
        if self._worker is not None:
            if reason is not None:
                self._count_replaced(reason)
            self._worker.kill()
            self._worker = None
