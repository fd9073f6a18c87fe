"""Work on files in processes of one program, within a budget of bytes: what the decoders of videos and sounds share.

Processes start with the first file. Knows no file and no codec.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from service.decode.messages import DecodeEnd
from service.decode.worker_pool import WorkerPool
from service.decode.worker_process import WorkerLostError
from service.fairness.room import NUM_SPARE, FairRoom
from service.media.blame import Blame

T = TypeVar("T")


def has_codecs() -> bool:
    """Whether PyAV is installed: the extras `video` and `audio` bring it. The front imports nothing of it."""
    return find_spec("av") is not None


class IsolatedWork:
    """As many pieces of work at once as there are processes.

    Attributes:
        room: for what is being decoded.
        what: is decoded, for errors.
        unreadable: the error of a file that cannot be decoded.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        what: str,
        unreadable: str,
        num_workers: int,
        max_bytes: int,
        deadline_s: float,
    ) -> None:
        self.room = FairRoom(num_workers, max_bytes)
        self.what = what
        self.unreadable = unreadable
        self._deadline_s = deadline_s
        self._workers = WorkerPool(
            command, num_workers=0, num_lazy=num_workers + NUM_SPARE, max_bytes=max_bytes, deadline_s=deadline_s
        )
        self._threads = ThreadPoolExecutor(num_workers + NUM_SPARE, thread_name_prefix="isolated")

    async def run(self, num_bytes: int, work: Callable[[], T], *, times: int = 1) -> T:
        """Do `work` in a thread once there is room for so many bytes, which it works through so many `times`."""
        cost = num_bytes * times
        piece = await self.room.take(cost, num_bytes=num_bytes, is_small=cost <= self.room.small_bytes)
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)

        def ended(running: asyncio.Future[T]) -> None:
            self.room.give(piece)
            running.exception()  # read once: nobody may wait for it any more, and asyncio would complain

        running.add_done_callback(ended)
        return await asyncio.shield(running)  # whoever gives up, the room is given back when the process is free again

    def ask(self, task: msgspec.Struct, num_bytes: int, blame: Blame) -> tuple[DecodeEnd, NDArray[np.uint8] | None]:
        """Have a process do a task; for `work`, which runs in a thread.

        Args:
            task: what the program reads.
            num_bytes: how many bytes it gives, if any.
            blame: the file's place, for errors.

        Raises:
            MediaError: `media_undecodable`: the process ended, or was late and has been killed.
        """
        try:
            return self._workers.run(task, num_bytes)
        except TimeoutError:
            late = f"The {self.what} cannot be decoded within {self._deadline_s:g} s."
            return blame.refuse("media_undecodable", late)
        except WorkerLostError:
            return blame.refuse("media_undecodable", self.unreadable)

    def close(self) -> None:
        """End the processes that are idle; nobody may run anything any more."""
        self._threads.shutdown()
        self._workers.close()
