"""The protocol of sinks: a destination of points in which writing a point again replaces it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from service.ingest.item import Point, Relabelled
from service.ingest.vectors import Layout, VectorKind


@dataclass(frozen=True, slots=True)
class Written:
    """What the ledger has of a sink.

    Attributes:
        position: returned by the last recorded `write`, 0 if there was none; what is after it is discarded.
        num_points: that are in the sink.
        is_first: True if no run has written here: existing data belongs to someone else.
    """

    position: int = 0
    num_points: int = 0
    is_first: bool = True


class Sink(Protocol):
    """A destination of points. Called by one thread at a time; may block.

    What does not answer now raises `StoreDownError`: the sink is opened anew, and the call repeated.

    Attributes:
        batch_points: preferred number of points of a write.
        max_wait_s: longest wait for a full write.
        can_change: points can be taken out, and their metadata replaced.
        lacks: kinds of vector that it has no place for, with a sentence why.
    """

    batch_points: int = 512
    max_wait_s: float = 1.0
    can_change: bool = True
    lacks: Mapping[VectorKind, str] = {}

    def open(self, layout: Layout, written: Written) -> None:
        """Prepare to write vectors of this layout after what the ledger has; again after the store was down.

        Raises:
            IngestError: what exists does not match the ledger or the layout, is gone, or cannot be opened.
        """
        ...

    def write(self, points: Sequence[Point]) -> int:
        """Write points durably, replacing those with the same ids, and return the new position; 0 if it needs none.

        Raises:
            IngestError: the write failed, on a full disk for instance; none or some of the points may be written.
        """
        ...

    def relabel(self, points: Sequence[Relabelled]) -> None:
        """Replace the metadata of points, and leave their vectors; points that are not there are passed over.

        Raises:
            IngestError: the write failed; none or some of the points may have them.
        """
        raise NotImplementedError

    def delete(self, points: Sequence[UUID]) -> None:
        """Take points out; those that are not there are passed over.

        Raises:
            IngestError: the write failed; none or some of the points may be out.
        """
        raise NotImplementedError

    def refuses(self, point: Point) -> str | None:
        """Reason why this point can never be stored here, or None."""
        return None

    def close(self) -> None:
        """Release all resources."""
        ...


def stored_fields(point: Point) -> dict[str, Any]:
    """Fields that every sink stores with a vector."""
    ask = point.ask
    return {"id": ask.item.id, "instruction": ask.instruction, "text": ask.item.text, "metadata": ask.item.metadata}
