"""The interface of every side of a comparison."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tests.bench.work import Work


class Side(Protocol):
    """One way to get the same vectors. Sides never compute at the same time."""

    def prepare(self, label: str, work: Work) -> None:
        """Get ready for work, off the clock; `label` replaces what was prepared under it."""

    def run(self, label: str) -> float:
        """Do it; how long that took, in seconds, by the clock of whoever did it."""

    def vectors(self, label: str) -> Sequence[NDArray[np.float32]]:
        """Vectors of the last run, one row for each input, or each image's features."""

    def close(self) -> None:
        """End what runs."""
