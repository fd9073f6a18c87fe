"""A bell that an engine rings when a forward is over, before its vectors are made and sent.

On few cores the front has most of its work to do while the engine does not use them all: between two forwards, from the
end of the one on. A message over a socket or a pipe would come too early: the kernel runs its reader on the core of who
wrote, as one that is about to sleep, and there the engine would wait for the front. An eventfd wakes it elsewhere.

Source: eventfd(2); Linux `sock_def_readable` and `pipe_write`, which wake by `wake_up_interruptible_sync_poll`.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress


def ring(descriptor: int) -> None:
    """Ring a bell; -1 is none."""
    if descriptor >= 0:
        os.eventfd_write(descriptor, 1)


class Bell:
    """The front's end. The event loop is woken only while somebody listens.

    Attributes:
        descriptor: that engines inherit; -1 where there is none, on other systems than Linux, and nothing rings.
    """

    def __init__(self) -> None:
        self.descriptor = -1
        with suppress(OSError, AttributeError):  # no descriptors left, or not Linux
            self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._listeners = list[Callable[[], None]]()

    def listen(self, hear: Callable[[], None]) -> None:
        """Call this at each ring from now on, until `leave`."""
        if not self._listeners and self.descriptor >= 0:
            self._drain()
            asyncio.get_running_loop().add_reader(self.descriptor, self._rung)
        self._listeners.append(hear)

    def leave(self, hear: Callable[[], None]) -> None:
        """Call it no longer."""
        self._listeners.remove(hear)
        if not self._listeners and self.descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self.descriptor)

    def close(self) -> None:
        """Close it; engines may ring on."""
        if self.descriptor < 0:
            return
        if self._listeners:
            asyncio.get_running_loop().remove_reader(self.descriptor)
        os.close(self.descriptor)
        self.descriptor = -1

    def _rung(self) -> None:
        self._drain()
        for hear in tuple(self._listeners):
            hear()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
