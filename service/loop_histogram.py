"""Histograms that the event loop alone observes: `prometheus_client`'s own take two locks and six calls for a value.

A request is observed ten times, in what it took as a whole and in each of its stages.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import INF, floatToGoString


class Observed:
    """The values of one label."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * len(bounds)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value in the first bucket whose bound it does not exceed."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class LoopHistogram(Collector):
    """A histogram with one label.

    Args:
        name: of the series.
        about: what they are.
        buckets: upper bounds, ascending, without the last.
        label: its name.
        registry: that shows them.
    """

    def __init__(
        self, name: str, about: str, buckets: Sequence[float], label: str, registry: CollectorRegistry
    ) -> None:
        self._name = name
        self._about = about
        self._bounds = (*map(float, buckets), INF)
        self._label = label
        self._observed: dict[str, Observed] = {}
        registry.register(self)

    def labels(self, value: str) -> Observed:
        """Return the child with the label `value`; its series exists from here on."""
        if value not in self._observed:
            self._observed[value] = Observed(self._bounds)
        return self._observed[value]

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """The series, as they are now."""
        family = HistogramMetricFamily(self._name, self._about, labels=[self._label])
        for value, observed in self._observed.items():
            sums = zip(map(floatToGoString, self._bounds), accumulate(observed.counts), strict=True)
            family.add_metric([value], list(sums), observed.total)
        yield family
