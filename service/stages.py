"""The stages of a request, which follow each other from the first byte of its body to its answer, with their times.

The outermost middleware opens a record, which travels with the request's task: code anywhere in the call tree notes its
stage in it. Outside of a request nothing is noted. Knows no HTTP and no metrics.
"""

import time
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field

STAGES = ("body", "decode", "fetch", "prepare", "media", "engine", "write")
"""In order: reading the body, decoding it, fetching media by URL, prompts, pixels, the engine's part, writing."""

ENGINE_STAGES = ("queue", "inference")
"""Parts of `engine`: before the forward, where images are encoded too, and the forward itself."""


@dataclass(slots=True)
class Stages:
    """The stages of one request.

    Attributes:
        intervals: name, begin and end of each, in seconds of `time.perf_counter`.
        inside_ms: the engine's own parts.
    """

    intervals: list[tuple[str, float, float]] = field(default_factory=list)
    inside_ms: dict[str, float] = field(default_factory=dict)

    def ms(self) -> dict[str, float]:
        """Milliseconds by stage, the engine's parts included."""
        total: dict[str, float] = {}
        for name, began_s, ended_s in self.intervals:
            total[name] = total.get(name, 0.0) + (ended_s - began_s) * 1e3
        return total | self.inside_ms


_CURRENT: ContextVar[Stages | None] = ContextVar("stages", default=None)


def open_stages() -> Stages:
    """Open a record for the request of this task."""
    _CURRENT.set(stages := Stages())
    return stages


def unnoted() -> Context:
    """This task's context, for tasks of its own that run side by side: their stages are not noted."""
    context = copy_context()
    context.run(_CURRENT.set, None)
    return context


class stage:  # noqa: N801  # read as a word, as `contextlib.suppress` is; a generator would be three calls more
    """Note how long the `with` takes, however it ends; `name` is one of `STAGES`."""

    __slots__ = ("_began_s", "_name")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._began_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if (stages := _CURRENT.get()) is not None:
            stages.intervals.append((self._name, self._began_s, time.perf_counter()))


def note_inside(queue_ms: float, inference_ms: float) -> None:
    """Note the times of `ENGINE_STAGES`, as the engine reported them."""
    if (stages := _CURRENT.get()) is not None:
        stages.inside_ms.update(queue=queue_ms, inference=inference_ms)
