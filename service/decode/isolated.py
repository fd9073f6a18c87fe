"""Decoding in processes that can be killed, within a budget of bytes: what images, videos and audio share.

Knows no file format and no codec.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from service.decode.messages import DecodeEnd
from service.decode.worker_pool import WorkerPool
from service.decode.worker_process import WorkerLostError
from service.fairness.room import NUM_SPARE, FairRoom, Piece
from service.media.error_location import ErrorLocation


class IsolatedWork:
    """Base of decoders: runs tasks in processes of one program, as many at once as there are processes.

    Attributes:
        room: the memory budget of what is being decoded.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        what: str,
        unreadable: str,
        num_workers: int,
        num_early: int = 0,
        max_bytes: int,
        deadline_s: float,
    ) -> None:
        """Start `num_early` processes now, the others when needed; errors name `what`, or say `unreadable`."""
        num_processes = num_workers + NUM_SPARE
        self.room = FairRoom(num_workers, max_bytes)
        self._what = what
        self._unreadable = unreadable
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(num_processes, thread_name_prefix=f"decode-{what}")
        self._workers = WorkerPool(
            command,
            num_workers=num_early,
            num_lazy=num_processes - num_early,
            max_bytes=max_bytes,
            deadline_s=deadline_s,
        )

    async def decode(
        self, task: msgspec.Struct, num_result_bytes: int, location: ErrorLocation, *, num_bytes: int, cost: int
    ) -> NDArray[np.uint8]:
        """Run a task that returns `num_result_bytes` bytes.

        Raises:
            MediaError: `media_undecodable`: the file is unreadable, its process ended, or it exceeded the deadline.
        """
        _, pixels = await self.run(task, num_result_bytes, location, num_bytes=num_bytes, cost=cost)
        return location.refuse("media_undecodable", self._unreadable) if pixels is None else pixels

    async def run(
        self, task: msgspec.Struct, num_result_bytes: int, location: ErrorLocation, *, num_bytes: int, cost: int
    ) -> tuple[DecodeEnd, NDArray[np.uint8] | None]:
        """Run a task as `decode` does; the result is None where the program gives none."""
        piece = await self.room.take(cost, num_bytes=num_bytes, is_small=cost <= self.room.small_bytes)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, self._run, task, num_result_bytes, location)
        release_when_done(work, self.room, piece)
        return await asyncio.shield(work)  # the room is given back when the process is free, also after a cancel

    def close(self) -> None:
        """End the idle processes; nothing may be decoded afterwards."""
        self._threads.shutdown()
        self._workers.close()

    def _run(
        self, task: msgspec.Struct, num_result_bytes: int, location: ErrorLocation
    ) -> tuple[DecodeEnd, NDArray[np.uint8] | None]:
        try:
            return self._workers.run(task, num_result_bytes)
        except TimeoutError:
            return location.refuse("media_undecodable", late_message(self._what, self._deadline_s))
        except WorkerLostError:
            return location.refuse("media_undecodable", self._unreadable)


def late_message(what: str, deadline_s: float) -> str:
    """Return the error of a file that exceeds the deadline."""
    return f"The {what} cannot be decoded within {deadline_s:g} s."


def release_when_done(work: asyncio.Future[Any], room: FairRoom, piece: Piece) -> None:
    """Give the room back when the work ends, whether or not its caller still waits."""

    def release(work: asyncio.Future[Any]) -> None:
        room.give(piece)
        work.exception()  # marks it as retrieved: the caller may be gone, and asyncio would complain

    work.add_done_callback(release)
