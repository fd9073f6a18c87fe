"""Names for images on their way between fronts: the front where one was bound hears when all others know it."""

from collections.abc import Sequence

from service.processes.front_process import FrontProcess
from service.processes.messages import UuidBound, UuidKnown


class NameRelay:
    """Counts who does not know a name yet.

    Args:
        fronts: of which some may be starting; those hear of no name that was bound before.
    """

    def __init__(self, fronts: Sequence[FrontProcess]) -> None:
        self._fronts = fronts
        self._unknown: dict[tuple[int, int], set[int]] = {}

    def tell(self, front: FrontProcess, message: UuidBound) -> None:
        """Tell the others of a name that was bound at `front`."""
        others = [other for other in self._fronts if other is not front and other.is_serving]
        self._unknown[message.index, message.number] = {other.index for other in others}
        for other in others:
            other.send(message)
        self._settle(message.index, message.number)

    def known(self, front: FrontProcess, index: int, number: int) -> None:
        """`front` knows a name that was bound at the front `index`."""
        self._unknown.get((index, number), set()).discard(front.index)
        self._settle(index, number)

    def gone(self, front: FrontProcess) -> None:
        """Wait no more for a front that has ended, and tell it nothing."""
        for index, number in [key for key in self._unknown if key[0] == front.index]:
            del self._unknown[index, number]
        for (index, number), unknown in list(self._unknown.items()):
            unknown.discard(front.index)
            self._settle(index, number)

    def _settle(self, index: int, number: int) -> None:
        if self._unknown.get((index, number)) == set():
            del self._unknown[index, number]
            self._fronts[index].send(UuidKnown(index=index, number=number))
