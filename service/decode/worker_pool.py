"""Processes that decode, as many as there are threads that wait for them; some start at once, some when needed.

A task whose process dies is tried once more in a new one, since the process may have been killed for something else.
Blocking, for the threads of a decoder; knows no asyncio and no budget.
"""

import queue
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.messages import DecodeEnd
from service.decode.worker_process import WorkerLostError, WorkerProcess
from service.errors import ModelError, UnavailableError

MEMORY_SLACK_BYTES = 256 << 20
"""Memory of a process beyond the budget: two copies of the file, threads' stacks, allocator overhead."""

NUM_TRIES = 2

RETRY_S = 2.0
"""Retry delay after decoders were killed: new ones have started by then."""


class WorkerPool:
    """Processes of one program, each with one task at a time."""

    def __init__(
        self, command: Sequence[str], *, num_workers: int, num_lazy: int, max_bytes: int, deadline_s: float
    ) -> None:
        """Run `command` with `max_bytes` of memory and `deadline_s` for each task; `num_lazy` start when needed."""
        self._command = command
        self._deadline_s = deadline_s
        self._max_memory_bytes = max_bytes + MEMORY_SLACK_BYTES
        self._idle: queue.LifoQueue[WorkerProcess | None] = queue.LifoQueue()  # the most recently used is next
        for number in range(num_lazy + num_workers):
            self._idle.put(None if number < num_lazy else self._new_worker())

    def run(self, task: msgspec.Struct, num_bytes: int) -> tuple[DecodeEnd, NDArray[np.uint8] | None]:
        """Have a task done.

        Args:
            num_bytes: how many bytes of pixels it gives, if any.

        Returns:
            How it ended, and the pixels.

        Raises:
            TimeoutError: it is overdue; its process has been killed.
            WorkerLostError: it ended its process, and that of the second try too.
            UnavailableError: both were killed from outside, or new ones as they started.
            ModelError: processes end by themselves before they have started.
        """
        was_killed = True
        for _ in range(NUM_TRIES):
            worker: WorkerProcess | None = self._ready_worker()
            assert worker is not None  # for the type: below it becomes the slot's next one
            try:
                return worker.exchange(task, num_bytes, self._deadline_s)
            except WorkerLostError:
                was_killed &= worker.was_killed
                worker = self._replaced(worker, "lost")
            except TimeoutError:
                worker = self._replaced(worker, "deadline")
                raise
            finally:
                self._idle.put(worker)
        if was_killed:
            raise _unavailable()
        raise WorkerLostError

    def close(self) -> None:
        """End the idle processes; nothing may run afterwards."""
        while not self._idle.empty():
            if (worker := self._idle.get()) is not None:
                worker.kill()

    def _ready_worker(self) -> WorkerProcess:
        """An idle worker; one that ended while it was idle is not the next task's fault."""
        worker = self._idle.get()
        if worker is not None and worker.has_ended:
            worker = self._replaced(worker, "lost")
        try:
            worker = worker or self._new_worker()
            worker.wait_until_ready()
        except (WorkerLostError, OSError) as error:  # a start that takes too long is an OSError, and so is none at all
            self._idle.put(None)
            is_ours = isinstance(error, WorkerLostError) and worker is not None and not worker.was_killed
            if worker is not None:
                self._drop(worker, "start")
            if is_ours:
                raise ModelError("internal_error", "a decoder's process did not start") from None
            raise _unavailable() from None
        return worker

    def _replaced(self, worker: WorkerProcess, reason: str) -> WorkerProcess | None:
        """A new one in its place; None, which is one that starts when it is needed, where the system has no room."""
        self._drop(worker, reason)
        try:
            return self._new_worker()
        except OSError:
            return None

    def _drop(self, worker: WorkerProcess, reason: str) -> None:
        worker.kill()
        metrics.DECODE_WORKERS_REPLACED.labels(reason).inc()

    def _new_worker(self) -> WorkerProcess:
        return WorkerProcess(self._command, max_memory_bytes=self._max_memory_bytes, cpu_s=self._deadline_s)


def _unavailable() -> UnavailableError:
    """The kernel kills processes when memory is short, or an operator does: no image is at fault."""
    message = "a decoder's process was ended from outside; send the request again"
    return UnavailableError("overloaded", message, retry_after_s=RETRY_S)
