"""One part of the bench: a workload with its figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.figure import Figure
from tests.bench.stage import Stage


@dataclass(frozen=True, slots=True)
class Part:
    """A part.

    Attributes:
        name: of its module.
        what: in a few words.
        run: measures it.
        model: what it runs on whatever the run was asked for: `builtin`, where what it shows does not depend on the
            model and it asks very often, `minilm`, or a key of `checkpoint.SIZES`. None takes the run's.
    """

    name: str
    what: str
    run: Callable[[Stage], Sequence[Figure]]
    model: str | None = None
