"""Decoding in processes that can be killed: the deadline ends a decode, and a fault of a codec ends nothing but that.

A picture whose process dies is tried once more in a new one, since the process may have been killed for something else;
then it is refused. One that is overdue is refused at once.
"""

import asyncio
import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.decode.budget import DecodeBudget
from service.decode.decoder import refuse_overdue
from service.decode.messages import DecodeTask
from service.decode.worker_process import COMMAND, WorkerLostError, WorkerProcess
from service.errors import ModelError
from service.media.blame import Blame
from service.media.header import UNREADABLE
from service.media.item import MediaItem

MEMORY_SLACK_BYTES = 256 << 20
"""What a process may take beyond the budget: the file twice, threads' stacks, what allocators round up to."""

NUM_TRIES = 2


class ProcessDecoder:
    """A `Decoder` of processes, as many as it has threads that wait for them.

    Attributes:
        budget: bytes that are being decoded.
    """

    def __init__(
        self, *, num_workers: int, max_bytes: int, deadline_s: float, command: Sequence[str] = COMMAND
    ) -> None:
        self.budget = DecodeBudget(max_bytes, num_workers)
        self._deadline_s = deadline_s
        self._max_memory_bytes = max_bytes + MEMORY_SLACK_BYTES
        self._command = command
        self._pool = ThreadPoolExecutor(num_workers, thread_name_prefix="decode")
        self._idle: queue.SimpleQueue[WorkerProcess] = queue.SimpleQueue()
        for _ in range(num_workers):
            self._idle.put(self._new_worker())

    async def pixels(self, item: MediaItem) -> NDArray[np.uint8]:
        """See `Decoder.pixels`."""
        num_bytes = item.num_decode_bytes
        await self.budget.take(num_bytes)
        work = asyncio.get_running_loop().run_in_executor(self._pool, self._decode, item)

        def ended(work: asyncio.Future[NDArray[np.uint8]]) -> None:
            self.budget.give(num_bytes)
            work.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        work.add_done_callback(ended)
        return await asyncio.shield(work)  # whoever gives up, the room is given back when the process is free again

    def close(self) -> None:
        """End the processes that are idle; nobody may decode any more."""
        self._pool.shutdown()
        while not self._idle.empty():
            self._idle.get().kill()

    def _decode(self, item: MediaItem) -> NDArray[np.uint8]:
        task = _task(item)
        for _ in range(NUM_TRIES):
            worker = self._ready_worker()
            try:
                pixels = worker.decode(task, self._deadline_s)
            except WorkerLostError:
                worker = self._replace(worker, "lost")
                continue
            except TimeoutError:
                worker = self._replace(worker, "deadline")
                refuse_overdue(item, self._deadline_s)
            finally:
                self._idle.put(worker)
            if pixels is not None:
                return pixels
            break
        return Blame(item.param, item.index).refuse("media_undecodable", UNREADABLE)

    def _ready_worker(self) -> WorkerProcess:
        """An idle worker; one that ended while it was idle is not the next picture's fault."""
        worker = self._idle.get()
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


def _task(item: MediaItem) -> DecodeTask:
    header = item.header
    return DecodeTask(
        encoded=item.encoded,
        format=header.format,
        width=header.width,
        height=header.height,
        orientation=header.orientation,
        background=item.reading.background,
        size=item.size,
        framing=item.framing,
    )
