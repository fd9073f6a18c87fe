"""Announcements of what the engine is about to run, on pipes that its keeper and its fronts read when they need to.

The keeper gets the report of each step on its pipe too, as it is in no hurry. A message on a socket would wake its
reader in the middle of the forward that it announces, on a core that the forward is using. What was announced before
the engine's end can be read after it. Knows no scheduler and no watchdog.
"""

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress

import msgspec

from service.ipc.frames import PREFIX, body_length
from service.ipc.messages import StepKind, StepReport, StepStarted

Announcement = StepStarted | StepReport
"""Messages over a pipe; reports only to the keeper."""

Announce = Callable[[StepKind, int, list[int]], None]
"""Announces a step of so many tokens for these requests, before it runs."""

PIPE_BYTES = 1 << 20
"""Room for what is announced between two looks of the keeper, a tenth of a second; then the engine waits."""
READ_BYTES = 1 << 16


def open_pipe() -> tuple[int, int]:
    """Descriptors of a pipe's ends, to read from and to write to.

    Raises:
        OSError: there are no descriptors left.
    """
    reading, writing = os.pipe()
    with suppress(OSError, AttributeError):  # not Linux, or the user's pipes hold as much as they may
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reading, writing


class Announcements:
    """The end of who reads: an engine's keeper, or a front.

    Attributes:
        theirs: the descriptor of the engine's end, which it inherits.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """Open a pipe; or read from one that is open, and whose other end is elsewhere.

        Raises:
            OSError: there are no descriptors left.
        """
        self._descriptor, self.theirs = open_pipe() if descriptor is None else (descriptor, -1)
        os.set_blocking(self._descriptor, False)
        self._is_open = True
        self._buffer = bytearray()
        self._decoder: msgspec.msgpack.Decoder[Announcement] = msgspec.msgpack.Decoder(Announcement)

    def inherited(self) -> None:
        """The engine has its end: close ours, so that the stream ends with it."""
        os.close(self.theirs)

    def read(self) -> list[Announcement]:
        """Read what was announced since the last look, in order; nothing once this end is closed.

        Of an announcement that the engine died in the middle of, the step never began.
        """
        with suppress(BlockingIOError):
            while self._is_open and (part := os.read(self._descriptor, READ_BYTES)):
                self._buffer += part
        steps: list[Announcement] = []
        start = 0
        while (end := self._end_of_frame(start)) <= len(self._buffer):
            steps.append(self._decoder.decode(self._buffer[start + PREFIX.size : end]))
            start = end
        del self._buffer[:start]
        return steps

    def close(self) -> None:
        """Close our end, once."""
        if self._is_open:
            self._is_open = False
            os.close(self._descriptor)

    def _end_of_frame(self, start: int) -> int:
        """Where the frame ends that begins there, so far as can be said."""
        body = start + PREFIX.size
        return body if body > len(self._buffer) else body + body_length(bytes(self._buffer[start:body]))
