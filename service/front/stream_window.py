"""What one stream may have under way at once: the bound of its memory, whatever its length.

In: the load of some lines that were read. Out: a place for them, as soon as there is room. While there is none the
stream's body is not read, so the client's own sending stops. Knows no HTTP and no engine.
"""

import asyncio

from service.front.admission import Admission, Load, Place, QueueLimits

POLL_S = 0.02
"""How often the service's queue is looked at: it tells nobody when it has room."""


class StreamWindow:
    """Lines between their reading and the writing of their answers.

    Args:
        limits: of the stream itself; what is over one of them by itself passes alone.
        admission: the service's queue, in which streams leave room for everybody else.
        place: the stream's in that queue.
    """

    def __init__(self, limits: QueueLimits, admission: Admission, place: Place) -> None:
        self._limits = limits
        self._admission = admission
        self._place = place
        self._under_way = Load()
        self._num_begun = 0
        self._has_left = asyncio.Event()

    def is_used(self) -> bool:
        """Whether any lines are under way."""
        return self._under_way.num_inputs > 0

    async def enter(self, load: Load) -> None:
        """Wait for room, and take it; a stream with nothing under way never waits for others.

        Args:
            load: inputs, tokens as far as they can be guessed, and bytes of lines and of their answers.
        """
        while not self._under_way.has_room(load, self._limits):
            self._has_left.clear()
            await self._has_left.wait()
        while self.is_used() and not self._admission.has_bulk_room(self._place.tenant):
            await asyncio.sleep(POLL_S)
        self._under_way.add(load)
        self._admission.hold(self._place, load.num_bytes)

    def leave(self, load: Load) -> None:
        """Give back what `enter` took."""
        self._under_way.add(load, -1)
        self._admission.hold(self._place, -load.num_bytes)
        self._has_left.set()

    def hold_begun(self, num_bytes: int) -> None:
        """Count the line that has begun and not ended.

        It waits for nobody, for what it waits for might be such a line of another stream.

        Args:
            num_bytes: of it so far.

        Raises:
            UnavailableError: the service holds too many bytes to take more of it.
        """
        more = num_bytes - self._num_begun
        self._admission.hold(self._place, more, is_checked=more > 0)
        self._num_begun = num_bytes
