"""Pacing of connections: their limits, how many chunks are parsed at once, how slowly a client may read."""

import asyncio
import fcntl
import socket  # noqa: TID251  # of our own server
import struct
import sys
import termios
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

MAX_CHUNKS_A_TURN = 128
"""2 ms. Chunks of honest clients hold kilobytes, and a read of a socket holds few of those."""

MAX_PAUSE_S = 30.0
"""Longest pause that reading faster than the least rate pays for: a system that reads for a slow program makes room by
a sixteenth of its buffer at a time, which takes a client of 20 kB/s twenty seconds."""

MIN_WAIT_S = 1.0
"""Between two checks of a slow reader."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of one connection.

    Attributes:
        max_head_bytes: request line and headers together.
        head_timeout_s: from the first byte of a head, or from the connection, to its last.
        drain_timeout_s: to send the rest of a body that is not read.
        write_timeout_s: to read anything of an answer at first.
        min_bytes_per_s: to read of it on average.
    """

    max_head_bytes: int
    head_timeout_s: float
    drain_timeout_s: float
    write_timeout_s: float
    min_bytes_per_s: int


class ChunkTurns:
    """Chunks that may be parsed in one turn of the event loop, by all connections of a server together.

    A chunk costs 15 µs to parse however small it is, and one read of a socket brings 20,000 of them. Connections that
    have more to parse go on in later turns, first come, first served; everything else on the loop runs in between.
    """

    def __init__(self) -> None:
        self._num_left = MAX_CHUNKS_A_TURN
        self._is_ending = False
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self) -> bool:
        """Take the right to parse one more chunk in this turn; False where none is left."""
        if not self._num_left:
            return False
        self._end_later()
        self._num_left -= 1
        return True

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` once, in a later turn."""
        self._waiting.append(go_on)
        self._end_later()

    def _end_later(self) -> None:
        if not self._is_ending:
            self._is_ending = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._num_left, self._is_ending = MAX_CHUNKS_A_TURN, False
        if self._waiting:
            self._end_later()  # first: should `go_on` fail, the others have their turns all the same
            self._waiting.popleft()()


class SlowReader:
    """A client that is behind in reading an answer, and whether it is too slow to wait for. Has no clock.

    Counted is what the client's system has acknowledged, not how far the buffer of this process went down: Linux asks
    for more to send only when a third of megabytes has been sent, which takes a client of 20 kB/s a minute.

    Args:
        timeout_s: for how long a client may read nothing at all at first.
        min_bytes_per_s: the least rate.
    """

    def __init__(self, timeout_s: float, min_bytes_per_s: int) -> None:
        self._timeout_s = timeout_s
        self._min_bytes_per_s = min_bytes_per_s
        self._max_s = max(timeout_s, MAX_PAUSE_S)
        self._left_s = timeout_s
        self._seen: tuple[float, int, int] | None = None

    def wait_s(self, now_s: float, num_read: int, num_sent: int) -> float:
        """Seconds until the next check; 0 when the client has been too slow for too long.

        Args:
            now_s: of any monotonic clock.
            num_read: bytes of the connection that the client has read so far.
            num_sent: bytes that were there to be read so far.
        """
        seen_s, num_before, num_due = self._seen or (now_s, 0, num_sent)
        self._seen = (now_s, num_read, num_sent)
        earned_s = (num_read - num_before) / self._min_bytes_per_s
        self._left_s = min(self._max_s, self._left_s - (now_s - seen_s) + earned_s)
        if num_read >= num_due:  # it had caught up meanwhile, and may have had nothing to read
            self._left_s = max(self._left_s, self._timeout_s)
        return max(MIN_WAIT_S, self._left_s) if self._left_s > 0 else 0.0


def num_in_kernel(sock: socket.socket) -> int:
    """Bytes that were written to a socket and that the other side has not acknowledged; 0 where the system cannot say.

    Source: tcp(7), `SIOCOUTQ`.
    """
    if sys.platform != "linux":
        return 0
    return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0])
