"""The order of work that cannot be interrupted: tenants share evenly, their requests share that, small goes first.

Weighted fair queueing, over tenants and within each over its requests. A piece gets a tag when it comes: the cost that
each party has been given so far, or the tag before it in its own line if that is higher, plus its own cost. The least
tag is next. So whoever has had little passes whoever has had much, a small piece passes large ones, and none waits for
ever, since the tags of those who come later rise with every piece taken. Knows no clock and no asyncio.

Source: A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from service.fairness.party import Party

T = TypeVar("T")


@dataclass(slots=True)
class Entry(Generic[T]):
    """A piece of work that waits.

    Attributes:
        tag: its place among its tenant's, with `number` where two are alike.
        number: how many came before it.
        cost: what it takes.
        party: whose it is.
        thing: the work.
    """

    tag: float
    number: int
    cost: int
    party: Party
    thing: T

    def __lt__(self, other: "Entry[T]") -> bool:
        return (self.tag, self.number) < (other.tag, other.number)


@dataclass(slots=True)
class Line(Generic[T]):
    """What one tenant has waiting.

    Attributes:
        tag: of its last piece that was taken, among all tenants.
        given: the cost that each of its requests has been given.
        last: the tag of the last piece of each of its requests that has some.
        waiting: a heap.
    """

    tag: float
    given: float = 0.0
    last: dict[int, float] = field(default_factory=dict)
    waiting: list[Entry[T]] = field(default_factory=list)


def anybody(_: str) -> bool:
    """Whether a tenant may have the next turn: each may."""
    return True


class FairOrder(Generic[T]):
    """Pieces of work of many parties.

    Args:
        is_gone: nobody waits for a piece any more; it is passed over.
    """

    def __init__(self, is_gone: Callable[[T], bool]) -> None:
        self._is_gone = is_gone
        self._lines: dict[str, Line[T]] = {}
        self._given = 0.0
        self._numbers = count()

    def add(self, party: Party, cost: int, thing: T) -> None:
        """A piece has come."""
        line = self._lines.setdefault(party.tenant, Line(self._given))
        tag = max(line.given, line.last.get(party.request, 0.0)) + cost
        line.last[party.request] = tag
        heapq.heappush(line.waiting, Entry(tag, next(self._numbers), cost, party, thing))

    def peek(self, may_have: Callable[[str], bool] = anybody) -> Entry[T] | None:
        """The next piece, of the tenants that may have it; None when there is none."""
        self._pass_over()
        lines = [(line.tag + line.waiting[0].cost, line) for name, line in self._lines.items() if may_have(name)]
        return min(lines, key=lambda pair: pair[0])[1].waiting[0] if lines else None

    def take(self, entry: Entry[T]) -> T:
        """Remove what `peek` has just given."""
        line = self._lines[entry.party.tenant]
        line.tag += entry.cost
        line.given += entry.cost / len(line.last)
        self._given += entry.cost / len(self._lines)
        self._pop(entry.party.tenant, line)
        return entry.thing

    def _pass_over(self) -> None:
        for name, line in list(self._lines.items()):
            while line.waiting and self._is_gone(line.waiting[0].thing):
                self._pop(name, line)

    def _pop(self, name: str, line: Line[T]) -> None:
        entry = heapq.heappop(line.waiting)
        if line.last[entry.party.request] <= entry.tag:
            del line.last[entry.party.request]
        if not line.waiting:  # a pause saves nothing up, and leaves no debt
            del self._lines[name]
