"""Base of sides that embed plain texts in a process of their own: the texts, the clock, and the rows.

Imports nothing of ours: it runs in the environment of the side.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any


class TextWorker(ABC):
    """A `Worker` over texts; `embed` is what the clock is for."""

    def __init__(self) -> None:
        self.texts: dict[str, list[Any]] = {}
        self._rows: dict[str, list[bytes]] = {}

    @abstractmethod
    def embed(self, texts: Sequence[Any]) -> Any:
        """Vectors of texts, a numpy array [texts, dimensions] in their order."""

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        self.texts[label] = [text for body in work["bodies"] for text in body["input"]]

    def run(self, label: str) -> float:
        began_s = time.perf_counter()
        rows = self.embed(self.texts[label])
        seconds = time.perf_counter() - began_s
        self._rows[label] = [row.astype("<f4").tobytes() for row in rows]
        return seconds

    def rows(self, label: str) -> Sequence[bytes]:
        return self._rows[label]
