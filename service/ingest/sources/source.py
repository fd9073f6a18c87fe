"""What every source is: items one after the other, and how many there may be."""

from collections.abc import Iterator
from typing import Protocol

from service.ingest.item import BadRecord, Item


class Source(Protocol):
    """Read by one thread, from the start in every run: what is done is known by its id."""

    def items(self) -> Iterator[Item | BadRecord]:
        """Every item, in an order that stays the same while the source does; holds one at a time."""
        ...

    def count(self) -> int | None:
        """How many items there are, about; None when that cannot be known beforehand. May take a while."""
        ...
