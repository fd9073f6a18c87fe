"""Places of a server's connections. Where all are taken, the one that waits longest for its client makes way.

A connection waits while no request of it is under way: before its first head is whole, between requests, or while the
rest of a body comes that was answered. It has done nothing yet that would be lost, and its client may connect again.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from service.http.server.peers import Arrival, ArrivalVerdict, PeerRule, Tally

NUM_SPARE = 64
"""Places above the limit, for those whose head is read in case it is a probe's; whoever has none is answered unread."""

MAX_LOOKS = 16
"""Connections that are looked at for one that may make way: answers of some may still be on their way out."""


class Guest(Protocol):
    """A connection, as its place sees it."""

    @property
    def may_make_way(self) -> bool:
        """True if its client has been sent all that it was answered."""
        ...

    def make_way(self) -> None:
        """End it."""
        ...


Line = OrderedDict[Guest, None]
"""Connections that wait, the longest first."""


@dataclass(slots=True)
class Place:
    """One connection's place.

    Attributes:
        peer: whose it is.
        is_spare: only probes are answered.
        line: in which it stands while it waits.
    """

    peer: str
    is_spare: bool
    line: Line


class Places:
    """Those of one process.

    Args:
        changed: is told a peer, and by how many places its number has changed, but for arrivals that were free to come.
    """

    def __init__(self, rule: PeerRule, changed: Callable[[str, int], None] = lambda peer, by: None) -> None:
        self.tally = Tally()
        self._rule = rule
        self._changed = changed
        self._held: dict[Guest, Place] = {}
        self._lines: dict[str, Line] = {}
        self._spare: Line = OrderedDict()
        self._num_spare = 0

    def arrival(self, address: str) -> Arrival:
        """A new connection from an address, where no other process counts any."""
        return self._rule.arrival(address, [self.tally])

    def take(self, guest: Guest, arrival: Arrival) -> Place | None:
        """A place for a new connection, which waits from now on; None where there is none, not even a spare one."""
        peer, verdict = arrival
        if verdict is ArrivalVerdict.FREE or self._make_room(arrival):
            self.tally.change(peer, 1)
            if verdict is not ArrivalVerdict.FREE:
                self._changed(peer, 1)
            place = Place(peer, False, self._lines.setdefault(peer, OrderedDict()))
        else:
            if self._num_spare >= NUM_SPARE and not self._first_makes_way(self._spare):
                return None
            self._num_spare += 1
            place = Place(peer, True, self._spare)
        place.line[guest] = None
        self._held[guest] = place
        return place

    def leave(self, guest: Guest) -> None:
        """Give up a connection's place, if it has one."""
        place = self._held.pop(guest, None)
        if place is None:
            return
        place.line.pop(guest, None)
        if place.is_spare:
            self._num_spare -= 1
            return
        self.tally.change(place.peer, -1)
        if place.peer not in self.tally.of:
            del self._lines[place.peer]
        self._changed(place.peer, -1)

    def _make_room(self, arrival: Arrival) -> bool:
        """Have a connection make way: of a peer that has its share, or of the one that has the most and waits."""
        peer = arrival.peer
        if arrival.verdict is not ArrivalVerdict.PEER_HAS_ITS_SHARE:
            waiting = [one for one, line in self._lines.items() if line]
            if not waiting:
                return False
            peer = max(waiting, key=self.tally.of.__getitem__)
        return peer in self._lines and self._first_makes_way(self._lines[peer])

    def _first_makes_way(self, line: Line) -> bool:
        for _ in range(min(len(line), MAX_LOOKS)):
            guest = next(iter(line))
            if guest.may_make_way:
                self.leave(guest)
                guest.make_way()
                return True
            line.move_to_end(guest)
        return False
