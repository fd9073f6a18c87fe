"""One part of the bench: a workload with its figures."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.figure import Measured
from tests.bench.stage import Stage


@dataclass(frozen=True, slots=True)
class Part:
    """A part.

    Attributes:
        name: of its module.
        what: in a few words.
        run: measures it.
        is_small: it runs on the built-in model: what it shows does not depend on the model, and it asks very often.
    """

    name: str
    what: str
    run: Callable[[Stage], Measured]
    is_small: bool = False
