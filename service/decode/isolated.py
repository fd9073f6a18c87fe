"""Decoding in processes that can be killed, within a budget of bytes: what images, videos and audio share.

There are as many processes as threads that wait for them; some start at once, the others when needed. A task whose
process dies is tried once more in a new one, since the process may have been killed for something else. Knows no file
format and no codec.
"""

import asyncio
import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.messages import DecodeEnd
from service.decode.worker_process import WorkerLostError, WorkerProcess
from service.errors import ModelError, UnavailableError
from service.fairness.room import NUM_SPARE, FairRoom
from service.media.error_location import ErrorLocation

MEMORY_SLACK_BYTES = 256 << 20
"""Memory of a process beyond the budget: two copies of the file, threads' stacks, allocator overhead."""

NUM_TRIES = 2

RETRY_S = 2.0
"""Retry delay after decoders were killed: new ones have started by then."""


class IsolatedDecoder:
    """Base of decoders: runs tasks in processes of one program, as many at once as there are processes.

    Attributes:
        room: the memory budget of what is being decoded.
    """

    command: ClassVar[Sequence[str]]
    """The program, see `serve`; with -P, or the folder that the front was started in came before the packages."""
    what: ClassVar[str]
    """The kind of media, as errors name it."""
    unreadable: ClassVar[str]
    """The error of a file that cannot be decoded."""

    def __init__(self, *, num_workers: int, max_bytes: int, deadline_s: float, num_early: int = 0) -> None:
        """Give each task `deadline_s`, and all together `max_bytes`; `num_early` processes start now."""
        num_processes = num_workers + NUM_SPARE
        self.room = FairRoom(num_workers, max_bytes, count_bytes=metrics.DECODE_BYTES.inc)
        self._deadline_s = deadline_s
        self._max_memory_bytes = max_bytes + MEMORY_SLACK_BYTES
        self._threads = ThreadPoolExecutor(num_processes, thread_name_prefix=f"decode-{self.what}")
        self._idle: queue.LifoQueue[WorkerProcess | None] = queue.LifoQueue()  # the most recently used is next
        for number in range(num_processes):
            self._idle.put(None if number < num_processes - num_early else self._new_worker())

    async def run(
        self, task: msgspec.Struct, num_result_bytes: int, location: ErrorLocation, *, num_bytes: int, cost: int
    ) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Run a task that gives so many bytes; it takes `num_bytes` of the budget, and its turn by its `cost`.

        Raises:
            MediaError: `media_undecodable`: the file is unreadable, its process ended, or it exceeded the deadline.
            UnavailableError: its process was killed from outside, and that of the second try too.
            ModelError: processes end by themselves before they have started.
        """
        piece = await self.room.take(cost, num_bytes=num_bytes, is_small=cost <= self.room.small_bytes)
        work = asyncio.get_running_loop().run_in_executor(self._threads, self._exchange, task, num_result_bytes)
        work.add_done_callback(lambda _: self.room.give(piece))  # when the process is free, also after a cancel
        try:
            end, result = await asyncio.shield(work)
        except TimeoutError:
            location.refuse("media_undecodable", late_message(self.what, self._deadline_s))
        except WorkerLostError:
            location.refuse("media_undecodable", self.unreadable)
        if len(result) != num_result_bytes:
            location.refuse("media_undecodable", self.unreadable)
        return end, result

    def close(self) -> None:
        """End the idle processes; nothing may be decoded afterwards."""
        self._threads.shutdown()
        while not self._idle.empty():
            if (worker := self._idle.get()) is not None:
                worker.kill()

    def _exchange(self, task: msgspec.Struct, num_bytes: int) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Have a process do a task; for a thread.

        Raises:
            TimeoutError: it is overdue; its process has been killed.
            WorkerLostError: it ended its process, and that of the second try too.
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

    def _ready_worker(self) -> WorkerProcess:
        """An idle worker; one that ended while it was idle is not the next task's fault."""
        worker = self._idle.get()
        if worker is not None and worker.has_ended:
            worker.kill("lost")
            worker = None
        try:
            worker = worker or self._new_worker()
            worker.wait_until_ready()
        except (WorkerLostError, OSError) as error:  # a start that takes too long is an OSError, and so is none at all
            self._idle.put(None)
            is_ours = isinstance(error, WorkerLostError) and worker is not None and not worker.was_killed
            if worker is not None:
                worker.kill("start")
            if is_ours:
                raise ModelError("internal_error", "a decoder's process did not start") from None
            raise _unavailable() from None
        return worker

    def _replaced(self, worker: WorkerProcess, reason: str) -> WorkerProcess | None:
        """A new one in its place; None, which is one that starts when it is needed, where the system has no room."""
        worker.kill(reason)
        try:
            return self._new_worker()
        except OSError:
            return None

    def _new_worker(self) -> WorkerProcess:
        return WorkerProcess(self.command, max_memory_bytes=self._max_memory_bytes, cpu_s=self._deadline_s)


def late_message(what: str, deadline_s: float) -> str:
    """Return the error of a file that exceeds the deadline."""
    return f"The {what} cannot be decoded within {deadline_s:g} s."


def _unavailable() -> UnavailableError:
    """The kernel kills processes when memory is short, or an operator does: no file is at fault."""
    message = "a decoder's process was ended from outside; send the request again"
    return UnavailableError("overloaded", message, retry_after_s=RETRY_S)
