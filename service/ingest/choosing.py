"""Which asks of the items that were read are still to be asked: neither done, nor dead, nor under way."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from service.ingest.errors import Reason
from service.ingest.item import Ask, BadRecord, Failure, Item
from service.ingest.ledger import Ledger
from service.ingest.plan import Plan
from service.ingest.progress import Counts

CHANGED = (
    "this id was embedded with other content, in this run or a former one; give the item another id, or start anew "
    "with another ledger and another sink"
)


class Chooser:
    """Compares items with the ledger, and with those whose points are on their way to it."""

    def __init__(self, plan: Plan, instructions: Sequence[str | None], ledger: Ledger, counts: Counts) -> None:
        self._plan = plan
        self._instructions = instructions
        self._ledger = ledger
        self._counts = counts
        self._under_way: dict[UUID, bytes] = {}

    def choose(self, read: Sequence[Item | BadRecord]) -> tuple[list[list[Ask]], list[Failure]]:
        """What to ask, an entry for each item that has anything to ask, and what fails at once.

        What is chosen counts as under way until `landed`.
        """
        asks = [self._asks(item) for item in read]
        known = self._ledger.known([ask.point for group in asks for ask in group])
        chosen: list[list[Ask]] = []
        failures: list[Failure] = []
        for item, group in zip(read, asks, strict=True):
            if isinstance(item, BadRecord):
                failures += [Failure(ask, item.reason) for ask in group if ask.point not in known]
                continue
            versions = {point: version for ask in group for point, version in self._version(ask.point, known)}
            if any(version not in (None, item.version) for version in versions.values()):
                failures += self._changed(item)
                continue
            new = [ask for ask in group if ask.point not in versions]
            self._under_way |= {ask.point: item.version for ask in new}
            self._counts.already += sum(version is not None for version in versions.values())
            chosen += [new] if new else []
        return chosen, failures

    def landed(self, points: Sequence[UUID]) -> None:
        """These are in the ledger now."""
        for point in points:
            self._under_way.pop(point, None)

    def _asks(self, item: Item | BadRecord) -> list[Ask]:
        if isinstance(item, BadRecord):  # one failure, whatever it would have been asked
            item = Item(item.id, b"", 0)
            return [Ask(item, None, self._plan.point_id(f"bad record: {item.id}", None))]
        return [Ask(item, each, self._plan.point_id(item.id, each)) for each in self._instructions]

    def _version(self, point: UUID, known: Mapping[UUID, bytes | None]) -> list[tuple[UUID, bytes | None]]:
        """The point with the content it was, or is being, made of (None: it is dead); nothing where it is new."""
        if point in self._under_way:
            return [(point, self._under_way[point])]
        return [(point, known[point])] if point in known else []

    def _changed(self, item: Item) -> list[Failure]:
        """One failure under a point of its own: the points under this id stay what they are."""
        point = self._plan.point_id(f"changed: {item.id} {item.version.hex()}", None)
        if self._ledger.known([point]):
            return []
        return [Failure(Ask(item, None, point), Reason("content_changed", CHANGED))]
