"""Items into batches of asks: all instructions of an item in one, no batch larger than the server takes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from service.ingest.item import Ask, Item
from service.ingest.sending import Bounds

ASK_BYTES = 256
"""What an ask takes in a body besides text, picture and instruction."""


@dataclass(slots=True)
class Batch:
    """Asks that go together.

    Attributes:
        num_bytes: about what their request has, and they take in memory.
    """

    asks: list[Ask] = field(default_factory=list)
    num_bytes: int = 0


class Batcher:
    """Fills one batch after the other, in the order of the source."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._batch = Batch()

    def add(self, asks: Sequence[Ask]) -> Batch | None:
        """Take the asks of one item; the batch that was full without them."""
        num_bytes = sum(_num_bytes(ask) for ask in asks) + _picture_bytes(asks[0].item, self._bounds.picture_bytes)
        batch = self._batch
        is_full = (
            len(batch.asks) + len(asks) > self._bounds.num_inputs
            or batch.num_bytes + num_bytes > self._bounds.num_bytes
        )
        full = self.flush() if is_full else None
        self._batch.asks.extend(asks)
        self._batch.num_bytes += num_bytes
        return full

    def flush(self) -> Batch | None:
        """What there is, however little; None when there is nothing."""
        batch, self._batch = self._batch, Batch()
        return batch if batch.asks else None


def _num_bytes(ask: Ask) -> int:
    return len((ask.item.text or "").encode(errors="replace")) + len(ask.instruction or "") + ASK_BYTES


def _picture_bytes(item: Item, limit: int) -> int:
    """In base64, unless it is that already. A file above the limit is not read."""
    match item.picture:
        case None:
            return 0
        case str():
            return len(item.picture)
        case bytes():
            return len(item.picture) * 4 // 3 + 4
        case Path():
            return 0 if item.num_bytes > limit else item.num_bytes * 4 // 3 + 4
