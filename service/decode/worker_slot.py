"""A place for one process at a time: started when it is needed, replaced when it is lost.

A task whose process dies is tried once more in a new one, since the process may have been killed for something else.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from service.decode.worker_process import WorkerLostError, WorkerProcess
from service.errors import ModelError, UnavailableError

NUM_TRIES = 2

RETRY_S = 2.0
"""Retry delay after processes were killed: new ones have started by then."""

T = TypeVar("T")


class WorkerSlot:
    """Runs tasks in processes of one program, one after the other; for one thread at a time."""

    def __init__(self, command: Sequence[str], *, max_memory_bytes: int, deadline_s: float) -> None:
        self._command = command
        self._max_memory_bytes = max_memory_bytes
        self._deadline_s = deadline_s
        self._worker: WorkerProcess | None = None

    def start(self) -> None:
        """Start the process now, without waiting for it.

        Raises:
            OSError: the system has no room for it.
        """
        self._worker = WorkerProcess(self._command, max_memory_bytes=self._max_memory_bytes, cpu_s=self._deadline_s)

    def close(self) -> None:
        """End the process, if there is one."""
        self._drop()

    def run(self, task: Callable[[WorkerProcess], T]) -> T:
        """What `task` makes of a process that is ready; it is called again with another process if it lost the first.

        Raises:
            TimeoutError: it is overdue; its process has been killed.
            OSError: a file that was lent to the process cannot be read.
            WorkerLostError: it ended its process, and that of the second try too.
            UnavailableError: its process was killed from outside, and that of the second try too.
            ModelError: processes end by themselves before they have started.
        """
        was_killed = True
        for _ in range(NUM_TRIES):
            worker = self._ready_worker()
            try:
                return task(worker)
            except WorkerLostError:
                was_killed &= worker.was_killed
                self._replace("lost")
            except TimeoutError:
                self._replace("deadline")
                raise
            except OSError:
                self._replace("lost")
                raise
        if was_killed:
            raise _unavailable()
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
            if is_ours:
                raise ModelError("internal_error", "a decoder's process did not start") from None
            raise _unavailable() from None
        return self._worker

    def _replace(self, reason: str) -> None:
        """Start another in its place, or leave that to the next task where the system has no room now."""
        self._drop(reason)
        try:
            self.start()
        except OSError:
            return

    def _drop(self, reason: str | None = None) -> None:
        if self._worker is not None:
            self._worker.kill(reason)
            self._worker = None


def _unavailable() -> UnavailableError:
    """The kernel kills processes when memory is short, or an operator does: no file is at fault."""
    message = "a decoder's process was ended from outside; send the request again"
    return UnavailableError("overloaded", message, retry_after_s=RETRY_S)
