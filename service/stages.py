"""Where the time of one request goes: stages that follow each other, from the first byte of its body to its answer.

The outermost ring opens a record, and whoever does the work notes its stage in it, wherever in the call tree: the
record travels with the request's task. Outside of a request nothing is noted. Knows no HTTP and no metrics.
"""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field

STAGES = ("body", "decode", "fetch", "prepare", "media", "engine", "write")
"""One after the other: reading the body, decoding it, pictures by URL, prompts, pixels, the engine's part, writing."""

ENGINE_STAGES = ("queue", "inference")
"""Parts of `engine`: before the language step, which pictures are encoded in too, and the step itself."""


@dataclass(slots=True)
class Stages:
    """The stages of one request.

    Attributes:
        intervals: name, begin and end of each, in seconds of `time.perf_counter`.
        inside_ms: what the engine told of its own part.
    """

    intervals: list[tuple[str, float, float]] = field(default_factory=list)
    inside_ms: dict[str, float] = field(default_factory=dict)

    def ms(self) -> dict[str, float]:
        """Milliseconds by stage, those of the engine's parts too."""
        total: dict[str, float] = {}
        for name, began_s, ended_s in self.intervals:
            total[name] = total.get(name, 0.0) + (ended_s - began_s) * 1e3
        return total | self.inside_ms


_CURRENT: ContextVar[Stages | None] = ContextVar("stages", default=None)


def open_stages() -> Stages:
    """A new record for the request of this task."""
    _CURRENT.set(stages := Stages())
    return stages


class stage:  # noqa: N801  # read as a word, as `contextlib.suppress` is; a generator would be three calls more
    """Note how long the `with` takes, however it ends.

    Args:
        name: one of `STAGES`.
    """

    __slots__ = ("_began_s", "_name")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._began_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if (stages := _CURRENT.get()) is not None:
            stages.intervals.append((self._name, self._began_s, time.perf_counter()))


def note_inside(name: str, ms: float) -> None:
    """Note what the engine told.

    Args:
        name: one of `ENGINE_STAGES`.
        ms: how long it took.
    """
    if (stages := _CURRENT.get()) is not None:
        stages.inside_ms[name] = ms
