"""Bounds of one stream: the lines under way at once, and the rate limit of its API key.

While the window is full the stream's body is not read, so that the client's sending stalls. Independent of HTTP and of
the engine.
"""

import asyncio

from schemas.limits import MAX_INPUTS
from service.front.admission.budget import Budget, Lease
from service.front.admission.key_meter import KeyMeter
from service.front.admission.load import Load

POLL_S = 0.02
"""Interval of checks of the service's queue, which has no notifications."""


class StreamWindow:
    """The lines between reading and the writing of their answers.

    Args:
        limits: of the stream itself; a line that exceeds one by itself passes alone.
        queue: of its model, in which streams leave space for single requests.
    """

    def __init__(self, limits: Load, lease: Lease, queue: Budget) -> None:
        self._limits = limits
        self._queue = queue
        self._lease = lease
        self._under_way = Load()
        self._num_begun = 0
        self._has_left = asyncio.Event()

    def is_used(self) -> bool:
        """True if any lines are under way."""
        return self._under_way.num_inputs > 0

    async def enter(self, load: Load) -> None:
        """Wait for space and reserve it; a stream with nothing under way never waits for others.

        Args:
            load: inputs, estimated tokens, and bytes of lines and of their answers.
        """
        while not self._under_way.has_room(load, self._limits):
            self._has_left.clear()
            await self._has_left.wait()
        while self.is_used() and not self._queue.has_bulk_room(self._lease.tenant):
            await asyncio.sleep(POLL_S)
        self._under_way.add(load)
        self._lease.grow(Load(num_bytes=load.num_bytes), is_checked=False)

    def leave(self, load: Load) -> None:
        """Give back what `enter` reserved."""
        self._under_way.add(load, -1)
        self._lease.grow(Load(num_bytes=-load.num_bytes), is_checked=False)
        self._has_left.set()

    def hold_begun(self, num_bytes: int) -> None:
        """Count the bytes of a line that has begun and not ended.

        It never waits: it could wait for such a line of another stream, and that one for it.

        Args:
            num_bytes: of the line so far.

        Raises:
            UnavailableError: the service already holds too many bytes.
        """
        more = num_bytes - self._num_begun
        self._lease.grow(Load(num_bytes=more), is_checked=more > 0)
        self._num_begun = num_bytes


class StreamRateLimit:
    """Charges the lines of one stream to its key; the request itself has paid for the first `MAX_INPUTS`.

    Args:
        meter: of the key; None where there are no keys.
    """

    def __init__(self, meter: KeyMeter | None) -> None:
        self._meter = meter
        self._num_paid = MAX_INPUTS

    @property
    def is_void(self) -> bool:
        """True if the key was removed from the file."""
        return self._meter is not None and self._meter.is_revoked

    def due_s(self, num_lines: int) -> float:
        """Charge the next lines; the seconds to wait before asking again, 0 when they were charged.

        Args:
            num_lines: at most `MAX_INPUTS`.
        """
        if self._meter is None:
            return 0.0
        if self._num_paid < num_lines:
            if wait_s := self._meter.due_s():
                return wait_s
            self._num_paid += MAX_INPUTS
        self._num_paid -= num_lines
        return 0.0
