"""Decoding in processes that can be killed, within a budget of bytes: what images, videos and audio share.

There are as many processes as threads that wait for them; some start at once, the others when needed. Knows no file
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
from service.cores import use_all
from service.decode.messages import DecodeEnd
from service.decode.worker_process import WorkerLostError
from service.decode.worker_slot import WorkerSlot
from service.fairness.room import NUM_SPARE, FairRoom
from service.media.error_location import ErrorLocation

MEMORY_SLACK_BYTES = 256 << 20
"""Memory of a process beyond the budget: two copies of the file, threads' stacks, allocator overhead."""


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
        self._threads = ThreadPoolExecutor(num_processes, f"decode-{self.what}", initializer=use_all)
        self._idle: queue.LifoQueue[WorkerSlot] = queue.LifoQueue()  # the most recently used is next
        for number in range(num_processes):
            max_memory_bytes = max_bytes + MEMORY_SLACK_BYTES
            slot = WorkerSlot(self.command, max_memory_bytes=max_memory_bytes, deadline_s=deadline_s)
            if number >= num_processes - num_early:
                slot.start()
            self._idle.put(slot)

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
        self.room.give_after(work, piece)  # when the process is free, also after a cancel
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
            self._idle.get().close()

    def _exchange(self, task: msgspec.Struct, num_bytes: int) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Have an idle process do a task; for a thread. Raises what `WorkerSlot.run` raises."""
        slot = self._idle.get()
        try:
            return slot.run(lambda worker: worker.exchange(task, num_bytes, self._deadline_s))
        finally:
            self._idle.put(slot)


def late_message(what: str, deadline_s: float) -> str:
    """Return the error of a file that exceeds the deadline."""
    return f"The {what} cannot be decoded within {deadline_s:g} s."
