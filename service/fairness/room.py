"""A semaphore in fair order for work that cannot be interrupted: so many pieces at once, within so many bytes.

Two extra seats keep anybody from waiting for another's long piece: one is for small pieces, one for a tenant that has
none under way. Long pieces get neither, and who holds an extra seat for too long is moved or stopped (`hurry`). Small,
large and long pieces take turns for the other seats. Call all methods from the event loop.
"""

import asyncio
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from service.fairness.fair_queue import CURRENT_PARTY, Party, TurnQueue

NUM_SPARE = 2
"""The extra seats."""

KEPT_SHARE = 16
"""One part in so many of the bytes is reserved for small pieces, and as much for the seat of newcomers."""

SLOW_S = 0.5
"""Pieces of a party whose pieces take longer on average are long ones."""

NEWEST_PIECE = 0.25
"""Weight of the newest piece in that mean."""

MAX_PACES = 4096
"""Parties whose means are remembered; least recently seen out first."""

STOPPED_S = 2.0
"""Taken for the time of a piece that was stopped."""

EXTRA_S, EXTRA_TIMES = 1.0, 4.0
"""Time in an extra seat: so much, and so many times the cost that is known before."""

NS = 1_000_000_000

Size = Literal["small", "large", "long"]
SIZES: tuple[Size, ...] = ("small", "large", "long")
Seat = Literal["shared", "small", "first"]
SPARE_SEATS: tuple[tuple[Seat, Size], ...] = (("small", "small"), ("first", "small"), ("first", "large"))
"""The extra seats, and what they are for."""


@dataclass(slots=True, eq=False)
class WorkPiece:
    """A piece of work, from the request for a seat until it is given back.

    Attributes:
        party: the request and tenant it belongs to.
        cost: charged so far.
        num_bytes: of memory, at its peak or as it was seen to hold.
        size: how long it takes.
        turn: set when it has a seat.
        limit_s: time in an extra seat.
        seat: the kind of that seat.
    """

    party: Party
    cost: int
    num_bytes: int
    size: Size
    turn: asyncio.Future[None]
    limit_s: float
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
        self._kept_bytes = max_bytes // KEPT_SHARE
        self.small_bytes = self._kept_bytes // (max_pieces + NUM_SPARE)
        self._max_large_bytes = max_bytes - 2 * self._kept_bytes
        self._waiting: dict[Size, TurnQueue[WorkPiece]] = {size: TurnQueue() for size in SIZES}
        self._last: Size = "small"  # the size that had a shared seat last
        self._short: Size | None = None  # the size whose next piece waits for bytes
        self._looks_again = False  # what was passed over may have a seat now
        self._seats: Counter[Seat] = Counter()
        self._by_tenant: Counter[str] = Counter()
        self._large: set[WorkPiece] = set()  # under way, in bytes that are not reserved
        self.num_bytes_taken = 0
        # How long pieces take where `spend` is told: of each tenant; without keys of each request, as all are one then.
        self._mean_s: OrderedDict[str | int, float] = OrderedDict()

    async def take(self, cost: int, *, num_bytes: int = 0, size: Size) -> WorkPiece:
        """Wait for a seat; the piece is to be passed to `give`.

        Args:
            cost: of the piece, in any unit, by which parties share; nanoseconds where `spend` is told.
            num_bytes: of memory at its peak.
            size: small if it takes little time; long if it may have no extra seat.
        """
        turn = asyncio.get_running_loop().create_future()
        piece = WorkPiece(CURRENT_PARTY.get(), cost, num_bytes, size, turn, EXTRA_S + EXTRA_TIMES * cost / NS)
        self._waiting[size].add(piece.party.tenant, piece.party.request, cost, piece)
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
        self._large.discard(piece)
        self._wake()

    def give_after(self, work: "asyncio.Future[Any]", piece: WorkPiece) -> None:
        """Free the seat of a piece when its work is over, for which nobody may be waiting any more."""

        def end(ended: "asyncio.Future[Any]") -> None:
            self.give(piece)
            if not ended.cancelled():
                ended.exception()  # marked as read, or asyncio would report it where its client has left

        work.add_done_callback(end)

    def has_more(self, piece: WorkPiece) -> bool:
        """True if the tenant of a piece under way is known by a key, and has others under way."""
        return bool(piece.party.tenant) and self._by_tenant[piece.party.tenant] > 1

    def spend(self, piece: WorkPiece, seconds: float, *, is_over: bool = False, is_stopped: bool = False) -> None:
        """Charge the time that a piece has had so far, or with `is_over` in all, in the place of its cost.

        Args:
            is_stopped: it would have taken longer.
        """
        spent = round(seconds * NS)
        if is_over:
            taken_s, key = max(seconds, STOPPED_S) if is_stopped else seconds, piece.party.tenant or piece.party.request
            mean_s = self._mean_s.pop(key, taken_s)
            self._mean_s[key] = mean_s + NEWEST_PIECE * (taken_s - mean_s)
            while len(self._mean_s) > MAX_PACES:
                self._mean_s.popitem(last=False)
        elif spent <= piece.cost:
            return
        for queue in self._waiting.values():
            queue.charge(piece.party, spent - piece.cost)
        piece.cost = spent

    def grow(self, piece: WorkPiece, num_bytes: int) -> bool:
        """Count that a piece holds so much memory; False if there is no room for that, and it has to be stopped."""
        if piece in self._large or num_bytes > (self.small_bytes if piece.size == "small" else self._kept_bytes):
            if not self._has_bytes(num_bytes, without=[piece]):
                return False
            self._large.add(piece)
        self.num_bytes_taken += num_bytes - piece.num_bytes
        self._count_bytes(num_bytes - piece.num_bytes)
        piece.num_bytes = num_bytes
        return True

    def hurry(self, piece: WorkPiece) -> bool:
        """Move a piece out of its extra seat; False if there is no other, and it has to be stopped."""
        if piece.seat != "shared":
            is_full = self._seats["shared"] >= self._max_pieces
            if is_full or not (piece.size == "small" or self._has_bytes(piece.num_bytes, without=[piece])):
                return False
            if piece.size != "small":
                self._large.add(piece)
            self._seats[piece.seat] -= 1
            piece.seat = "shared"
            self._seats["shared"] += 1
            self._wake()
        return True

    def _wake(self) -> None:
        """Give free seats to the pieces that are next, until none can have one."""
        while True:
            for seat, size in self._free() if any(self._waiting.values()) else ():
                piece = self._next(seat, size)
                if piece is not None:
                    break
            else:
                if not self._looks_again:
                    return
                self._looks_again = False
                continue
            if seat == "shared":
                self._last = size
            self._waiting[size].leave(piece, is_served=True)
            for other in SIZES:
                if other != size:
                    self._waiting[other].charge(piece.party, piece.cost)
            piece.seat = seat
            if not self._is_kept(seat, piece):
                self._large.add(piece)
            self._count(piece, 1)
            piece.turn.set_result(None)

    def _free(self) -> Iterator[tuple[Seat, Size]]:
        """Free seats, and what may have them."""
        if self._seats["shared"] < self._max_pieces:
            after = SIZES.index(self._last) + 1
            for size in (*SIZES[after:], *SIZES[:after]):
                yield "shared", size
        if self._has_spare:
            yield from (pair for pair in SPARE_SEATS if not self._seats[pair[0]])

    def _next(self, seat: Seat, size: Size) -> WorkPiece | None:
        """The piece of a size that is next, if it may have such a seat."""
        if seat == "shared" and size != "small" and self._short not in (None, size):
            return None  # or the other one would never find the bytes
        waiting = self._waiting[size]
        if not waiting and self._short != size:
            return None
        without = self._by_tenant if seat == "first" else ()
        while (piece := waiting.peek(without)) is not None:
            expected_s = self._mean_s.get(piece.party.tenant or piece.party.request, 0.0)
            if size == "long" or expected_s <= SLOW_S:
                break
            waiting.leave(piece, is_served=False)  # it came before its party was known to be slow
            piece.size, piece.cost = "long", max(piece.cost, round(expected_s * NS))
            self._waiting["long"].add(piece.party.tenant, piece.party.request, piece.cost, piece)
            self._looks_again = True
        has_room = piece is None or self._is_kept(seat, piece) or self._has_bytes(piece.num_bytes)
        if seat == "shared" and not has_room:
            self._short = size
        elif seat == "shared" and self._short == size:
            self._short, self._looks_again = None, True
        return piece if has_room else None

    def _is_kept(self, seat: Seat, piece: WorkPiece) -> bool:
        """True if a piece has reserved bytes in such a seat."""
        return piece.size == "small" or (seat == "first" and piece.num_bytes <= self._kept_bytes)

    def _has_bytes(self, num_bytes: int, without: Collection[WorkPiece] = ()) -> bool:
        others = [one.num_bytes for one in self._large if one not in without]
        return not others or sum(others) + num_bytes <= self._max_large_bytes

    def _count(self, piece: WorkPiece, sign: int) -> None:
        self._seats[piece.seat] += sign
        self._by_tenant[piece.party.tenant] += sign
        if not self._by_tenant[piece.party.tenant]:
            del self._by_tenant[piece.party.tenant]
        self.num_bytes_taken += sign * piece.num_bytes
        self._count_bytes(sign * piece.num_bytes)
