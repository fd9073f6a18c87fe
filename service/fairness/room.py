"""A semaphore in fair order for work that cannot be interrupted: so many pieces at once, within so many bytes.

Two extra seats keep anybody from waiting for another's long piece: one is for small pieces only, one for a tenant that
has none under way. Small and large pieces take turns for the others. Call all methods from the event loop.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from service.fairness.order import FairOrder
from service.fairness.party import CURRENT_PARTY, Party

NUM_SPARE = 2
"""The extra seats."""

KEPT_SHARE = 16
"""One part in so many of the bytes is reserved for small pieces."""

Seat = Literal["shared", "small", "first"]
SPARE_SEATS: tuple[tuple[Seat, bool], ...] = (("small", False), ("first", True))
"""The extra seats, and whether they are for large pieces."""


@dataclass(slots=True, eq=False)
class WorkPiece:
    """A piece of work, from the request for a seat until it is given back.

    Attributes:
        party: the request and tenant it belongs to.
        num_bytes: of memory at its peak.
        is_small: whether it takes little time.
        turn: set when it has a seat.
        seat: the kind of that seat.
    """

    party: Party
    num_bytes: int
    is_small: bool
    turn: asyncio.Future[None]
    seat: Seat = "shared"


class FairRoom:
    """Assigns seats; a piece that exceeds the bytes by itself gets one when no other large piece has any.

    Attributes:
        num_bytes_taken: of all pieces under way.
        small_bytes: largest small piece: as many as may be under way fit into the reserved bytes.
    """

    def __init__(
        self,
        max_pieces: int,
        max_bytes: int = sys.maxsize,
        *,
        num_spare: int = NUM_SPARE,
        count_bytes: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Seat `max_pieces`; `count_bytes` is told what each takes, and the same below 0 when it gives that back."""
        self._max_pieces = max_pieces
        self._count_bytes = count_bytes
        self._has_spare = num_spare > 0
        self.small_bytes = max_bytes // KEPT_SHARE // (max_pieces + NUM_SPARE)
        self._max_large_bytes = max_bytes - max_bytes // KEPT_SHARE
        self._small: FairOrder[WorkPiece] = FairOrder()
        self._large: FairOrder[WorkPiece] = FairOrder()
        self._large_is_next = False
        self._seats: Counter[Seat] = Counter()
        self._by_tenant: Counter[str] = Counter()
        self._num_large = self._num_large_bytes = 0
        self.num_bytes_taken = 0

    async def take(self, cost: int, *, num_bytes: int = 0, is_small: bool) -> WorkPiece:
        """Wait for a seat.

        Args:
            cost: of the piece, in any unit, by which parties share.
            num_bytes: of memory at its peak.
            is_small: whether it takes little time.

        Returns:
            The piece, to be passed to `give`.
        """
        piece = WorkPiece(CURRENT_PARTY.get(), num_bytes, is_small, asyncio.get_running_loop().create_future())
        (self._small if is_small else self._large).add(piece.party, cost, piece)
        self._wake()
        try:
            await piece.turn
        except asyncio.CancelledError:
            if piece.turn.cancelled():
                self._wake()  # it may have been next
            else:  # it had its seat already
                self.give(piece)
            raise
        return piece

    def give(self, piece: WorkPiece) -> None:
        """Free the seat of a piece."""
        self._count(piece, -1)
        self._wake()

    def give_after(self, work: "asyncio.Future[Any]", piece: WorkPiece) -> None:
        """Free the seat of a piece when its work is over, for which nobody may be waiting any more."""

        def end(ended: "asyncio.Future[Any]") -> None:
            self.give(piece)
            if not ended.cancelled():
                ended.exception()  # marked as read, or asyncio would report it where its client has left

        work.add_done_callback(end)

    def _wake(self) -> None:
        """Give free seats to the pieces that are next, until none can have one."""
        while True:
            free: list[tuple[Seat, bool]] = []  # seats, and whether for large pieces
            if self._seats["shared"] < self._max_pieces:
                free.append(("shared", self._large_is_next))
                free.append(("shared", not self._large_is_next))
            if self._has_spare:
                free.extend((seat, is_large) for seat, is_large in SPARE_SEATS if not self._seats[seat])
            for seat, is_large in free:
                order = self._large if is_large else self._small
                entry = order.peek(without=self._by_tenant if seat == "first" else ())
                if entry is not None and (not is_large or self._has_bytes(entry.thing.num_bytes)):
                    break
            else:
                return
            if seat == "shared":
                self._large_is_next = not is_large
            piece = order.take(entry)
            piece.seat = seat
            self._count(piece, 1)
            piece.turn.set_result(None)

    def _has_bytes(self, num_bytes: int) -> bool:
        return self._num_large == 0 or self._num_large_bytes + num_bytes <= self._max_large_bytes

    def _count(self, piece: WorkPiece, sign: int) -> None:
        self._seats[piece.seat] += sign
        self._by_tenant[piece.party.tenant] += sign
        if not self._by_tenant[piece.party.tenant]:
            del self._by_tenant[piece.party.tenant]
        self.num_bytes_taken += sign * piece.num_bytes
        self._count_bytes(sign * piece.num_bytes)
        if not piece.is_small:
            self._num_large += sign
            self._num_large_bytes += sign * piece.num_bytes
