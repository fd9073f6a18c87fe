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
from service.errors import ModelError

MEMORY_SLACK_BYTES = 256 << 20
"""What a process may take beyond the budget: the file twice, threads' stacks, what allocators round up to."""

NUM_TRIES = 2


class WorkerPool:
    """Processes of one program, each with one task at a time."""

    def __init__(
        self, command: Sequence[str], *, num_workers: int, num_lazy: int, max_bytes: int, deadline_s: float
    ) -> None:
        """Run `command` with `max_bytes` of memory and `deadline_s` for each task; `num_lazy` start when needed."""
        self._command = command
        self._deadline_s = deadline_s
        self._max_memory_bytes = max_bytes + MEMORY_SLACK_BYTES
        self._idle: queue.LifoQueue[WorkerProcess | None] = queue.LifoQueue()  # whoever was at work last is next
        for number in range(num_lazy + num_workers):
            self._idle.put(None if number < num_lazy else self._new_worker())

    def run(self, task: msgspec.Struct, num_bytes: int) -> tuple[DecodeEnd, NDArray[np.uint8] | None]:
        """Have a task done.

        Args:
            task: what the program reads.
            num_bytes: how many bytes of pixels it gives, if any.

        Returns:
            How it ended, and the pixels.

        Raises:
            TimeoutError: it is overdue; its process has been killed.
            WorkerLostError: it ended its process, and that of the second try too.
        """
        for _ in range(NUM_TRIES):
            worker = self._ready_worker()
            try:
                return worker.exchange(task, num_bytes, self._deadline_s)
            except WorkerLostError:
                worker = self._replace(worker, "lost")
            except TimeoutError:
                worker = self._replace(worker, "deadline")
                raise
            finally:
                self._idle.put(worker)
        raise WorkerLostError

    def close(self) -> None:
        """End the processes that are idle; nobody may run anything any more."""
        while not self._idle.empty():
            if (worker := self._idle.get()) is not None:
                worker.kill()

    def _ready_worker(self) -> WorkerProcess:
        """An idle worker; one that ended while it was idle is not the next task's fault."""
        worker = self._idle.get() or self._new_worker()
        if worker.has_ended:
            worker = self._replace(worker, "lost")
        try:
            worker.wait_until_ready()
        except (WorkerLostError, TimeoutError):
            self._idle.put(self._replace(worker, "start"))
            raise ModelError("internal_error", "a decoder's process did not start") from None
        return worker

    def _replace(self, worker: WorkerProcess, reason: str) -> WorkerProcess:
        worker.kill()
        metrics.DECODE_WORKERS_REPLACED.labels(reason).inc()
        return self._new_worker()

    def _new_worker(self) -> WorkerProcess:
        return WorkerProcess(self._command, max_memory_bytes=self._max_memory_bytes, cpu_s=self._deadline_s)
