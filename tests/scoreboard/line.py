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
        measure: what is tried, in a few words.
        must: what has to hold for every case.
        sizes: cases in a run of `make scoreboard`, and of `make scoreboard-nightly`.
        side_by_side: it neither measures time nor fills the machine, so another such line may run beside it.
        name: the name of its module.
        run: tries that many; gets a folder of its own for server logs (`*.log`) and scratch files.
    """

    number: int
    measure: str
    must: str
    sizes: tuple[int, int]
    side_by_side: bool
    name: str
    run: Callable[[int, Path], Result]


def line(
    number: int, measure: str, must: str, *, sizes: tuple[int, int], side_by_side: bool = False
) -> Callable[[Callable[[int, Path], Result]], Line]:
    """Make a module's `run` its line."""

    def made(run: Callable[[int, Path], Result]) -> Line:
        return Line(number, measure, must, sizes, side_by_side, run.__module__.rpartition(".")[2], run)

    return made
