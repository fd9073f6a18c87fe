"""Points of a curve, measured interleaved: every point of every side once in each round."""

from collections.abc import Callable, Mapping, Sequence

from tests.bench.rounds import Case, interleave, same
from tests.bench.sides.side import Side
from tests.bench.spread import Spread, spread
from tests.bench.work import Work

Points = dict[str, list[tuple[float, Spread]]]


def measure_points(
    sides: Mapping[str, Side], works: Mapping[float, Work], num_rounds: int, y: Callable[[float, float], float]
) -> Points:
    """Series by side.

    Args:
        sides: who takes part.
        works: what is done at each x.
        num_rounds: rounds that count.
        y: what is drawn, of x and the seconds it took.
    """
    cases = [Case(f"{name} {x:g}", side, same(work)) for name, side in sides.items() for x, work in works.items()]
    spent = interleave(cases, num_rounds)
    return {name: [(x, _drawn(spent[f"{name} {x:g}"], x, y)) for x in works] for name in sides}


def _drawn(seconds: Sequence[float], x: float, y: Callable[[float, float], float]) -> Spread:
    return spread([y(x, one) for one in seconds])
