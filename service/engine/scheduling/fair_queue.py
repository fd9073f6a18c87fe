"""A queue that tenants share fairly: deficit round robin over them, first come first served within each.

In: things with a tenant and a cost. Out: the next one. A tenant that waits gets its quantum each round, however much
the others have queued; what it does not spend it keeps until its queue is empty. Knows neither tokens nor clocks.

Source: M. Shreedhar and G. Varghese, "Efficient Fair Queueing Using Deficit Round Robin", SIGCOMM 1995.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Line(Generic[T]):
    """One tenant's part of the queue.

    Attributes:
        credit: what it may still spend before the next tenant's turn.
        waiting: its things with their costs, oldest first.
    """

    credit: int
    waiting: deque[tuple[int, T]] = field(default_factory=deque)


class FairQueue(Generic[T]):
    """Things of many tenants.

    Attributes:
        quantum: cost that one turn is worth. The smaller, the finer the shares; the larger, the fewer turns.
    """

    def __init__(self, quantum: int) -> None:
        self.quantum = quantum
        self._lines: OrderedDict[str, Line[T]] = OrderedDict()

    def __len__(self) -> int:
        return sum(len(line.waiting) for line in self._lines.values())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __iter__(self) -> Iterator[T]:
        return (thing for line in self._lines.values() for _, thing in line.waiting)

    def add(self, tenant: str, cost: int, thing: T) -> None:
        """Queue a thing behind its tenant's others; a tenant that had none has its turn last."""
        self._lines.setdefault(tenant, Line(credit=self.quantum)).waiting.append((cost, thing))

    def peek(self) -> tuple[int, T]:
        """Return what `take` gives next, with its cost. The queue must not be empty.

        The next thing is the oldest of the first tenant in turn that can pay for it.
        """
        while True:
            tenant, line = next(iter(self._lines.items()))
            if line.credit >= line.waiting[0][0]:
                return line.waiting[0]
            line.credit += self.quantum  # for its next turn
            self._lines.move_to_end(tenant)

    def take(self) -> T:
        """Remove the next thing. The queue must not be empty."""
        cost, thing = self.peek()
        line = next(iter(self._lines.values()))
        line.waiting.popleft()
        line.credit -= cost
        if not line.waiting:  # credit is not saved up while idle
            self._lines.popitem(last=False)
        return thing

    def keep(self, is_kept: Callable[[T], bool]) -> None:
        """Forget everything else."""
        for tenant, line in list(self._lines.items()):
            line.waiting = deque(pair for pair in line.waiting if is_kept(pair[1]))
            if not line.waiting:
                del self._lines[tenant]
