"""One line of the scoreboard: what is tried, how often, what must hold. `breaks/` has what it must notice."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Result:
    """Findings of a line.

    Attributes:
        num_tried: cases that ran to their end.
        num_failed: those that broke what must hold.
        notes: the first failures, and figures measured on the way.
    """

    num_tried: int
    num_failed: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """A measure with its bar.

    Attributes:
        number: its row in the specification's scoreboard; several lines may share one.
        name: the name of its module.
        measure: what is tried, in a few words.
        must: what has to hold for every case.
        ci: cases in a run of `make scoreboard`.
        nightly: cases in a run of `make scoreboard-nightly`.
        run: tries that many; gets a folder of its own for server logs (`*.log`) and scratch files.
        side_by_side: it neither measures time nor fills the machine, so another such line may run beside it.
    """

    number: int
    name: str
    measure: str
    must: str
    ci: int
    nightly: int
    run: Callable[[int, Path], Result]
    side_by_side: bool = False
