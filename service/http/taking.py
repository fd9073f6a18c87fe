"""How fast a client takes its answer, and whether that is too slow to wait for.

Counted is what the client's system has acknowledged, and not how far the buffer of this process went down: Linux asks
for more to send only when a third of megabytes has gone, which takes a client of 20 kB/s a minute. In: how much was
taken, and when. Out: how long to go on waiting. Has no clock.
"""

import fcntl
import socket  # noqa: TID251  # of our own server
import struct
import sys
import termios

MAX_PAUSE_S = 30.0
"""What was taken faster than at the least rate pays for a pause of so long: a system that reads for a slow program
makes room by a sixteenth of its buffer at a time, which takes a client of 20 kB/s twenty seconds."""

MAX_UNSENT_BYTES = 1 << 17
"""Of one connection, in the system's buffer; its own bound is 4 MB, for each of a thousand slow clients."""

LEAST_WAIT_S = 1.0
"""Between two looks."""


class Taking:
    """One answer on its way, from the moment that the client is behind.

    Args:
        timeout_s: for how long a client may take nothing at all at first.
        min_bytes_per_s: the least rate.
    """

    def __init__(self, timeout_s: float, min_bytes_per_s: int) -> None:
        self._timeout_s = timeout_s
        self._min_bytes_per_s = min_bytes_per_s
        self._max_s = max(timeout_s, MAX_PAUSE_S)
        self._left_s = timeout_s
        self._seen: tuple[float, int, int] | None = None

    def wait_s(self, now_s: float, num_taken: int, num_sent: int) -> float:
        """Seconds after which to look again; 0 when the client has been too slow for too long.

        Args:
            now_s: of any clock that goes forward, the same each time.
            num_taken: bytes of the connection that were taken so far.
            num_sent: those that were there to be taken so far.
        """
        seen_s, num_before, num_due = self._seen or (now_s, 0, num_sent)
        self._seen = (now_s, num_taken, num_sent)
        earned_s = (num_taken - num_before) / self._min_bytes_per_s
        self._left_s = min(self._max_s, self._left_s - (now_s - seen_s) + earned_s)
        if num_taken >= num_due:  # it had caught up meanwhile, and may have had nothing to take
            self._left_s = max(self._left_s, self._timeout_s)
        return max(LEAST_WAIT_S, self._left_s) if self._left_s > 0 else 0.0


def keep_little_unsent(sock: socket.socket) -> None:
    """Have the system keep no megabytes that cannot go out yet; what is on its way to the client has no such bound.

    Source: tcp(7), `TCP_NOTSENT_LOWAT`.
    """
    if sys.platform == "linux":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)


def num_in_kernel(sock: socket.socket) -> int:
    """Bytes that were written to a socket and that the other side has not acknowledged; 0 where nobody tells.

    Source: tcp(7), `SIOCOUTQ`.
    """
    if sys.platform != "linux":
        return 0
    return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0])
