"""A request between its submission and its answer, and the wait for many of them together."""

import asyncio
from collections.abc import Collection
from typing import Literal

import msgspec

from service.ipc.messages import Request
from service.media.item import MediaItem
from service.outputs.block import Vector

PendingState = Literal["sent", "held", "sent_again"]


class Pending(msgspec.Struct, eq=False):
    """A request that was submitted, and its media in case their pixels are asked for again.

    No dataclass: a large request has hundreds, and one takes nearly twice as long to make.

    Attributes:
        request: as it was sent.
        items: its media by content key.
        state: `held` is between two engines; `sent_again` is with its second, and gets no third.
        outcome: the vector, or the error of this request; None until one is there.
        wait: of who waits for it and for others.
    """

    request: Request
    items: dict[bytes, MediaItem]
    state: PendingState = "sent"
    outcome: Vector | Exception | None = None
    wait: "Wait | None" = None
    _future: asyncio.Future[Vector] | None = None

    @property
    def future(self) -> asyncio.Future[Vector]:
        """Its outcome for who waits for it alone. Hundreds of futures cost more than what they tell."""
        if self._future is None:
            self._future = asyncio.get_running_loop().create_future()
            self._tell()
        return self._future

    def settle(self, outcome: Vector | Exception) -> None:
        """Give it its outcome."""
        self.outcome = outcome
        if self._future is not None:
            self._tell()
        if self.wait is not None:
            self.wait.on_outcome(is_failure=isinstance(outcome, Exception))

    def cancel(self) -> None:
        """Nobody wants it any more."""
        if self._future is not None:
            self._future.cancel()

    def _tell(self) -> None:
        """Settle the future, unless it was cancelled in this turn of the loop."""
        assert self._future is not None  # the callers have looked
        if self.outcome is None or self._future.done():
            return
        if isinstance(self.outcome, Exception):
            self._future.set_exception(self.outcome)
            self._future.exception()  # marked as read: the task that waited may have ended, and asyncio would warn
        else:
            self._future.set_result(self.outcome)


class Wait:
    """The wait for several requests: for all of them, or for the first that fails.

    Args:
        pending: those that have no outcome yet, one at least.
        per_item: a failure ends it only when it is the last outcome.
    """

    def __init__(self, pending: Collection[Pending], *, per_item: bool) -> None:
        self._num_left = len(pending)
        self._per_item = per_item
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for one in pending:
            one.wait = self

    async def over(self) -> None:
        """Wait."""
        await self._over

    async def is_over_within(self, seconds: float) -> bool:
        """Wait for a time at most; whether it is over."""
        return bool((await asyncio.wait([self._over], timeout=seconds))[0])

    def on_outcome(self, *, is_failure: bool) -> None:
        """Count an outcome."""
        self._num_left -= 1
        is_over = self._num_left == 0 or (is_failure and not self._per_item)
        if is_over and not self._over.done():
            self._over.set_result(None)
