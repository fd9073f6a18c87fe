"""What every sink is: a place that takes points, and takes the same point again without having it twice."""

from collections.abc import Sequence
from typing import Any, Protocol

from service.ingest.item import Point


class Sink(Protocol):
    """Called by one thread at a time, and may block.

    Attributes:
        batch_points: how many points are best written at once.
        max_wait_s: how long points may wait for others to be written with; None waits for as many as that.
    """

    batch_points: int
    max_wait_s: float | None

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Make ready to write vectors of so many components behind what the ledger knows of.

        Args:
            dimensions: components of every vector.
            position: what the last marked `write` returned, 0 when none was: what lies behind it is undone. None when
                no run has written here before: what is there is somebody else's.
            num_done: points that the ledger says are here.

        Raises:
            IngestError: what is there does not fit, or is not what the ledger knows.
        """
        ...

    def write(self, points: Sequence[Point]) -> int:
        """Keep points, in the place of those with the same ids; they are safe when this returns.

        Returns:
            The new position.

        Raises:
            IngestError: they could not be written; none or some of them may have been.
        """
        ...

    def refuses(self, point: Point) -> str | None:
        """Why this point can never be kept here; None when it can."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def fields(point: Point) -> dict[str, Any]:
    """What stands beside a vector in every sink, by the same names."""
    ask = point.ask
    return {"id": ask.item.id, "instruction": ask.instruction, "text": ask.item.text, "metadata": ask.item.metadata}
