"""Room for work that cannot be interrupted: so many pieces at once, within so many bytes, handed out in a fair order.

Two seats more than are asked for make sure that nobody waits for another's long piece to end: one takes small pieces
only, one the pieces of a tenant that has none under way. Small and large ones take turns for the others. All methods
belong to the event loop.
"""

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from service.fairness.order import FairOrder
from service.fairness.party import Party, current_party

NUM_SPARE = 2
"""Seats that are for small pieces, and for whoever has none."""

KEPT_SHARE = 16
"""This fraction of the bytes is for small pieces."""

Seat = Literal["shared", "small", "first"]


@dataclass(slots=True, eq=False)
class Piece:
    """A piece of work, from asking for room until it is given back.

    Attributes:
        party: whose it is.
        num_bytes: what it takes at its peak.
        is_small: it is soon over.
        turn: set when it has room.
        seat: which room that is.
    """

    party: Party
    num_bytes: int
    is_small: bool
    turn: asyncio.Future[None]
    seat: Seat = "shared"


class FairRoom:
    """Hands out room; a piece that is over the bytes by itself gets some when no other large one has any.

    Attributes:
        num_bytes_taken: of all pieces under way.
        small_bytes: pieces of up to so many bytes are small: as many as may be under way fit into what is kept.
    """

    def __init__(self, max_pieces: int, max_bytes: int = sys.maxsize, *, num_spare: int = NUM_SPARE) -> None:
        self._max_pieces = max_pieces
        self._has_spare = num_spare > 0
        self.small_bytes = max_bytes // KEPT_SHARE // (max_pieces + NUM_SPARE)
        self._max_large_bytes = max_bytes - max_bytes // KEPT_SHARE
        self._small: FairOrder[Piece] = FairOrder(_is_gone)
        self._large: FairOrder[Piece] = FairOrder(_is_gone)
        self._large_is_next = False
        self._seats: Counter[Seat] = Counter()
        self._by_tenant: Counter[str] = Counter()
        self._num_large = self._num_large_bytes = 0
        self.num_bytes_taken = 0

    async def take(self, cost: int, *, num_bytes: int = 0, is_small: bool) -> Piece:
        """Wait for room.

        Args:
            cost: of the piece, in any unit: what one party is given is weighed against what others are.
            num_bytes: what it takes at its peak.
            is_small: it is soon over.

        Returns:
            What goes to `give`.
        """
        piece = Piece(current_party(), num_bytes, is_small, asyncio.get_running_loop().create_future())
        (self._small if is_small else self._large).add(piece.party, cost, piece)
        self._wake()
        try:
            await piece.turn
        except asyncio.CancelledError:
            if piece.turn.cancelled():
                self._wake()  # it may have been in the way
            else:  # it had its turn already
                self.give(piece)
            raise
        return piece

    def give(self, piece: Piece) -> None:
        """Room is free again."""
        self._count(piece, -1)
        if not self._by_tenant[piece.party.tenant]:
            del self._by_tenant[piece.party.tenant]
        self._wake()

    def _wake(self) -> None:
        while (piece := self._next()) is not None:
            self._count(piece, 1)
            piece.turn.set_result(None)

    def _next(self) -> Piece | None:
        """Who has room now."""
        if self._seats["shared"] < self._max_pieces:
            for is_large in (self._large_is_next, not self._large_is_next):
                if (piece := self._seated("shared", is_large=is_large)) is not None:
                    self._large_is_next = not is_large
                    return piece
        if self._has_spare and not self._seats["small"] and (piece := self._seated("small", is_large=False)):
            return piece
        return self._seated("first", is_large=True) if self._has_spare and not self._seats["first"] else None

    def _seated(self, seat: Seat, *, is_large: bool) -> Piece | None:
        order = self._large if is_large else self._small
        entry = order.peek(self._has_none) if seat == "first" else order.peek()
        if entry is None or (is_large and not self._has_bytes(entry.thing.num_bytes)):
            return None
        piece = order.take(entry)
        piece.seat = seat
        return piece

    def _has_none(self, tenant: str) -> bool:
        return not self._by_tenant[tenant]

    def _has_bytes(self, num_bytes: int) -> bool:
        return self._num_large == 0 or self._num_large_bytes + num_bytes <= self._max_large_bytes

    def _count(self, piece: Piece, sign: int) -> None:
        self._seats[piece.seat] += sign
        self._by_tenant[piece.party.tenant] += sign
        self.num_bytes_taken += sign * piece.num_bytes
        if not piece.is_small:
            self._num_large += sign
            self._num_large_bytes += sign * piece.num_bytes


def _is_gone(piece: Piece) -> bool:
    return piece.turn.cancelled()
