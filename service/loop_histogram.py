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
        self._counts: dict[str, list[int]] = {}
        self._totals: dict[str, float] = {}
        registry.register(self)

    def show(self, label: str) -> None:
        """Begin the series of a label, which has observed nothing."""
        self._counts[label], self._totals[label] = [0] * len(self._bounds), 0.0

    def observe(self, label: str, value: float) -> None:
        """Count a value in the first bucket whose bound it does not exceed."""
        if label not in self._counts:
            self.show(label)
        self._counts[label][bisect_left(self._bounds, value)] += 1
        self._totals[label] += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """The series, as they are now."""
        family = HistogramMetricFamily(self._name, self._about, labels=[self._label])
        for label, counts in self._counts.items():
            sums = zip(map(floatToGoString, self._bounds), accumulate(counts), strict=True)
            family.add_metric([label], list(sums), self._totals[label])
        yield family
