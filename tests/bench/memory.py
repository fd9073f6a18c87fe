"""Memory that the service may take, by its settings, and that it takes."""

import json
import threading
from pathlib import Path
from types import TracebackType

from service.settings import Settings
from tests.bench.figure import Bar, Figure, exactly
from tests.conftest import LiveServer
from tests.scoreboard.vitals import Vitals, processes_of

SAMPLE_S = 0.2
FLOAT_BYTES = 4
MIB = 1 << 20
SLACK_BYTES = 64 * MIB
"""For what allocators keep, and for bodies and answers."""


def step_bytes(checkpoint: Path, settings: Settings) -> int:
    """Activations of the largest language step in float32.

    For each token: four rows of the residual stream's width, three of queries, keys and values, three of the
    feed-forward's width.
    """
    text = json.loads((checkpoint / "config.json").read_text())["text_config"]
    heads = (text["num_attention_heads"] + 2 * text["num_key_value_heads"]) * text["head_dim"]
    width = 4 * text["hidden_size"] + 3 * heads + 3 * text["intermediate_size"]
    return settings.max_batch_tokens * int(width) * FLOAT_BYTES


class MemoryWatch:
    """Resident bytes of a server and all its processes while the `with` lasts.

    Args:
        server: who is watched.
        gauge: a series that is looked at as well; asking for it costs the server some milliseconds each time.

    Attributes:
        begin_bytes: resident when it began.
        samples: each look's resident bytes and gauge.
    """

    def __init__(self, server: LiveServer, gauge: str | None = None) -> None:
        self._server, self._gauge = server, gauge
        self._processes: list[Vitals] = processes_of(server.process.pid)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.begin_bytes = self._resident()
        self.samples: list[tuple[int, float]] = []

    def __enter__(self) -> None:
        self._thread.start()

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
        shown = self._server.metric(self._gauge) if self._gauge else 0.0
        self.samples.append((self._resident(), shown))

    def _resident(self) -> int:
        for process in self._processes:
            process.sample()
        return sum(process.rss[-1][1] for process in self._processes)


def within_budget(name: str, words: str, memory: MemoryWatch, checkpoint: Path, *caps: int) -> Figure:
    """The most that was resident, of what the settings allow: what there was at the start, caps, one step, slack."""
    step, begin = step_bytes(checkpoint, Settings()), memory.begin_bytes
    budget = begin + sum(caps) + step + SLACK_BYTES
    note = (
        f"{memory.max_bytes / MIB:,.0f} MiB resident at most; budget {budget / MIB:,.0f} MiB: {begin / MIB:,.0f} when "
        f"ready, {''.join(f'{cap / MIB:.0f} for a cap, ' for cap in caps)}{step / MIB:,.0f} for the activations of "
        f"{Settings().max_batch_tokens} tokens, {SLACK_BYTES / MIB:.0f} besides"
    )
    return Figure(name, words, exactly(memory.max_bytes / budget), "×", Bar("≤", 1.0), 1, [note])
