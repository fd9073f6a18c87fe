"""Chunks of bodies on the event loop: so many a turn of it, for all connections together.

A chunk costs 15 µs to parse however small it is, and one read of a socket brings 20,000 of them. In: a connection that
has chunks to parse. Out: whether it may parse one more in this turn of the loop, or when it goes on. First come, first
served; everybody else has a turn in between. Knows no HTTP.
"""

import asyncio
from collections import deque
from collections.abc import Callable

MAX_A_TURN = 128
"""2 ms. Chunks of honest clients hold kilobytes, and a read of a socket holds few of those."""


class ChunkTurns:
    """What is shared by the connections of one server."""

    def __init__(self) -> None:
        self._num_left = MAX_A_TURN
        self._is_ending = False
        self._behind: deque[Callable[[], None]] = deque()

    def take(self) -> bool:
        """Whether one more chunk may be parsed in this turn of the loop."""
        if not self._num_left:
            return False
        self._end_later()
        self._num_left -= 1
        return True

    def wait(self, go_on: Callable[[], None]) -> None:
        """Wait for a turn.

        Args:
            go_on: called once, when there is one.
        """
        self._behind.append(go_on)
        self._end_later()

    def _end_later(self) -> None:
        if not self._is_ending:
            self._is_ending = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._num_left, self._is_ending = MAX_A_TURN, False
        if self._behind:
            self._end_later()  # before it goes on: should that fail, the others have their turns all the same
            self._behind.popleft()()
