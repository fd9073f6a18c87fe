"""Decoding in processes that can be killed, within a budget of bytes: what images, videos, audio files and PDFs share.

There are as many processes as threads that wait for them; some start at once, and others so that two are idle. What a
file costs shows only while it is decoded: running tasks are looked at, and their time and memory are charged as they
are spent. A task that stays in an extra seat of the room, or grows when there is no memory left, is stopped and begun
again once there is time and memory for it. Knows no file format and no codec.
"""

import asyncio
import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from service import metrics
from service.errors import ModelError, UnavailableError
from service.fairness.room import NUM_SPARE, FairRoom, Size, WorkPiece
from service.media.error_location import ErrorLocation
from service.workers.messages import DecodeEnd
from service.workers.worker_process import (
    StoppedError,
    WorkerKilledError,
    WorkerLostError,
    WorkerProcess,
    WorkerSlot,
    WorkerStartError,
)

MEMORY_SLACK_BYTES = 256 << 20
"""Memory of a process beyond the budget: two copies of the file, threads' stacks, allocator overhead."""

OWN_BYTES = 32 << 20
"""Memory of a process that is not counted, beyond that of its codecs; one that keeps more after a task is replaced."""

LOOK_S = 0.05
"""Interval at which running tasks are looked at."""

RETRY_S = 2.0
"""Retry delay after processes were killed: new ones have started by then."""

BUSY = 4
"""Processes that share a core, at most: the time that a task waits for one is not its own."""


@dataclass(slots=True, eq=False)
class Running:
    """A task under way.

    Attributes:
        piece: its place in the room.
        slot: where it runs, once a process is ready for it.
        worker: that process.
        began_s: when that was, by `time.monotonic`.
        began_cpu_s: the process's time until then.
        held_bytes: the memory that it was last seen to hold.
        is_stopped: it is to begin again.
    """

    piece: WorkPiece
    slot: WorkerSlot | None = None
    worker: WorkerProcess | None = None
    began_s: float = math.inf
    began_cpu_s: float = 0.0
    held_bytes: int = 0
    is_stopped: bool = False

    @property
    def had_s(self) -> float:
        """Processor time that it has had, and of a busy machine a part of the time at least."""
        cpu_s = 0.0 if self.worker is None else self.worker.cpu_s - self.began_cpu_s
        return max(0.0, cpu_s, (time.monotonic() - self.began_s) / BUSY)


class IsolatedDecoder:
    """Base of decoders: runs tasks in processes of one program, as many at once as there are processes.

    Attributes:
        room: the memory budget of what is being decoded, and the order of tasks by their time.
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
        self._max_bytes = max_bytes
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(num_processes, f"decode-{self.what}")
        self._running: set[Running] = set()
        self._next_look: asyncio.TimerHandle | None = None
        max_memory_bytes = max_bytes + MEMORY_SLACK_BYTES
        self._idle = [
            WorkerSlot(
                self.command,
                max_memory_bytes=max_memory_bytes,
                deadline_s=deadline_s,
                count_replaced=lambda reason: metrics.DECODE_WORKERS_REPLACED.labels(reason).inc(),
            )
            for _ in range(num_processes)
        ]  # the most recently used is the last
        self._choosing = threading.Lock()
        for slot in self._idle[num_processes - num_early :]:
            slot.start()

    async def run(
        self, task: msgspec.Struct, num_result_bytes: int, location: ErrorLocation, *, num_bytes: int, cost: int
    ) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Run a task that gives so many bytes.

        Args:
            num_bytes: of the budget, as far as is known before.
            cost: its time as far as is known before, in nanoseconds: about one for each byte that is decoded.

        Raises:
            MediaError: `media_undecodable`: the file is unreadable, its process ended, or it exceeded the deadline.
            UnavailableError: its process was killed from outside, and that of the second try too.
            ModelError: processes end by themselves before they have started.
        """
        size: Size = "small" if cost <= self.room.small_bytes else "large"
        while True:
            piece = await self.room.take(cost, num_bytes=num_bytes, size=size)
            running = Running(piece)
            self._running.add(running)
            if self._next_look is None:
                self._next_look = asyncio.get_running_loop().call_later(LOOK_S, self._look)
            work = asyncio.get_running_loop().run_in_executor(
                self._threads, self._exchange, running, task, num_result_bytes
            )
            work.add_done_callback(partial(self._end, running))
            self.room.give_after(work, piece)  # when the process is free, also after a cancel
            try:
                end, result = await asyncio.shield(work)
                break
            except StoppedError:
                size, cost = "long", piece.cost
                num_bytes = max(num_bytes, min(2 * running.held_bytes, self._max_bytes))
            except TimeoutError:
                location.refuse("media_undecodable", late_message(self.what, self._deadline_s))
            except WorkerLostError:
                location.refuse("media_undecodable", self.unreadable)
            except WorkerKilledError:
                message = "a decoder's process was ended from outside; send the request again"
                raise UnavailableError("overloaded", message, retry_after_s=RETRY_S) from None
            except WorkerStartError:
                raise ModelError("internal_error", "a decoder's process did not start") from None
        metrics.DECODE_STDERR_BYTES.inc(end.num_stderr_bytes)
        if len(result) != num_result_bytes:
            location.refuse("media_undecodable", self.unreadable)
        return end, result

    def close(self) -> None:
        """End the idle processes; nothing may be decoded afterwards."""
        self._threads.shutdown()
        while self._idle:
            self._idle.pop().close()

    def _end(self, running: Running, _: object) -> None:
        self._running.discard(running)
        if not self._running and self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        self.room.spend(running.piece, running.had_s, is_over=True, is_stopped=running.is_stopped)

    def _look(self) -> None:
        """Charge what running tasks have spent, and stop those that have too much."""
        for running in self._running:
            piece, slot = running.piece, running.slot
            self.room.spend(piece, running.had_s)
            if slot is None or running.is_stopped:
                continue
            running.held_bytes, reason = slot.num_held_bytes, None
            if running.held_bytes > piece.num_bytes + OWN_BYTES and not self.room.grow(piece, running.held_bytes):
                reason = "memory"
            elif running.had_s > piece.limit_s and not self.room.hurry(piece):
                reason = "time"
            if reason is not None:
                running.is_stopped = True
                slot.stop(reason)
        self._next_look = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _exchange(self, running: Running, task: msgspec.Struct, num_bytes: int) -> tuple[DecodeEnd, NDArray[np.uint8]]:
        """Have an idle process do a task; for a thread. Raises what `WorkerSlot.run` raises."""
        slot = self._choose(running.piece)

        def exchange(worker: WorkerProcess) -> tuple[DecodeEnd, NDArray[np.uint8]]:
            with self._choosing, suppress(OSError):  # no room now: it is left to its first task
                for spare in self._idle[-NUM_SPARE:]:  # who gets an extra seat should not wait for a process
                    if spare.worker is None:
                        spare.start()
            running.slot, running.worker, running.began_cpu_s = slot, worker, worker.cpu_s
            running.began_s = time.monotonic()
            return worker.exchange(task, num_bytes, self._deadline_s)

        try:
            return slot.run(exchange)
        finally:
            running.slot = None
            if slot.num_held_bytes > OWN_BYTES:
                slot.replace("memory")
            with self._choosing:
                self._idle.append(slot)

    def _choose(self, piece: WorkPiece) -> WorkerSlot:
        """An idle process, of which there are as many as seats.

        Long work, and who has other work under way, leave the last that is ready to others.
        """
        leaves_last = piece.size == "long" or self.room.has_more(piece)
        with self._choosing:
            ready = [slot for slot in self._idle if not slot.would_wait]
            others = [slot for slot in self._idle if slot not in ready]
            slot = ready[-1] if len(ready) > leaves_last or not others else others[-1]
            self._idle.remove(slot)
        return slot


def late_message(what: str, deadline_s: float) -> str:
    """Return the error of a file that exceeds the deadline."""
    return f"The {what} cannot be decoded within {deadline_s:g} s."
