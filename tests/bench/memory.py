"""How much memory the service may take, from its settings, and how much it takes."""

import json
import threading
from pathlib import Path
from types import TracebackType

from service.settings import Settings
from tests.conftest import LiveServer
from tests.scoreboard.vitals import Vitals, processes_of

SAMPLE_S = 0.1
FLOAT_BYTES = 4


def step_bytes(checkpoint: Path, settings: Settings) -> int:
    """Activations of the largest language step, float32: for each token four rows of the residual stream's width,
    queries, keys and values, and three of the feed-forward's width.
    """
    text = json.loads((checkpoint / "config.json").read_text())["text_config"]
    heads = (text["num_attention_heads"] + 2 * text["num_key_value_heads"]) * text["head_dim"]
    width = 4 * text["hidden_size"] + 3 * heads + 3 * text["intermediate_size"]
    return settings.max_batch_tokens * width * FLOAT_BYTES


class MemoryWatch:
    """Resident bytes of a server and all its processes, and a gauge of it, while the `with` lasts.

    Attributes:
        begin_bytes: resident when it began.
        samples: each look's resident bytes and gauge.
    """

    def __init__(self, server: LiveServer, gauge: str) -> None:
        self._server, self._gauge = server, gauge
        self._processes: list[Vitals] = processes_of(server.process.pid)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.begin_bytes = self._resident()
        self.samples: list[tuple[int, float]] = []

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()

    @property
    def max_bytes(self) -> int:
        """The most that was resident."""
        return max(resident for resident, _ in self.samples)

    @property
    def max_gauge(self) -> float:
        """The most that the gauge showed."""
        return max(value for _, value in self.samples)

    def _watch(self) -> None:
        while not self._is_over.wait(SAMPLE_S):
            self._look()

    def _look(self) -> None:
        self.samples.append((self._resident(), self._server.metric(self._gauge)))

    def _resident(self) -> int:
        for process in self._processes:
            process.sample()
        return sum(process.rss[-1][1] for process in self._processes)
