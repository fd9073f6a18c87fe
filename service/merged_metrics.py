"""One exposition made of several processes' own, for a service with several fronts.

Counters, histograms and gauges are added up by name and labels, except for those of which each process shows the whole
(`NOT_ADDED`). A count never falls: what a process had counted by its last scrape stays when it ends, or when it does
not answer. A process that is killed takes along what it counted after that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from service.engine_series import SHARED_VECTORS

COUNTED = frozenset(("counter", "histogram", "summary"))
"""Types that only grow while their process lives."""


class Rule(NamedTuple):
    """How two processes' values make one, and why they are not added."""

    of: Callable[[float, float], float]
    why: str


SETTINGS = Rule(max, "the settings are those of the service")
ENGINE = Rule(max, "each model has one engine; a process that does not keep it shows 0")
REPORTED = Rule(max, "the engine's own, as a process last heard of them")
WORST = Rule(min, "down for one is worth an alert")
NEWEST = Rule(max, "the newest of several times")

NOT_ADDED: Mapping[str, Rule] = {
    "cenote_limit": SETTINGS,
    "cenote_engine_ready": ENGINE,
    "cenote_engine_breaker_open": ENGINE,
    "cenote_encoder_cache_bytes": REPORTED,
    "cenote_encoder_cache_entries": REPORTED,
    "cenote_encoder_cache_evictions": REPORTED,
    "cenote_encoder_cache_saved_seconds": REPORTED,
    "cenote_result_cache_bytes": REPORTED,
    "cenote_result_cache_entries": REPORTED,
    "cenote_encoder_cache_tier_hits": REPORTED,
    "cenote_encoder_cache_tier_misses": REPORTED,
    "cenote_encoder_cache_tier_evictions": REPORTED,
    "cenote_encoder_cache_tier_rejected": REPORTED,
    "cenote_encoder_cache_tier_bytes": REPORTED,
    "cenote_encoder_cache_tier_entries": REPORTED,
    "cenote_encoder_cache_tier_corrupt": REPORTED,  # the server of vectors apart, which the fronts ask
    "cenote_encoder_cache_tier_up": WORST,
    "cenote_encoder_cache_tier_last_success_timestamp_seconds": NEWEST,
}
"""Families that are not added up, by their name without `_total`."""

Labels = tuple[tuple[str, str], ...]
Series = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric of a process, or of all.

    Attributes:
        name: without a counter's `_total`.
        about: its HELP.
        type: its TYPE.
        values: by a sample's name and labels, in the order of the exposition.
    """

    name: str
    about: str
    type: str
    values: dict[Series, float] = field(default_factory=dict)

    def add(self, other: "Family") -> None:
        """Merge another process's values into these."""
        for series, value in other.values.items():
            mine = self.values.get(series)
            self.values[series] = value if mine is None else self._rule(series[1])(mine, value)

    def _rule(self, labels: Labels) -> Callable[[float, float], float]:
        rule = NOT_ADDED.get(self.name)
        if rule is None or (rule is REPORTED and ("tier", SHARED_VECTORS) in labels):
            return float.__add__
        return rule.of

    def shown(self) -> Metric:
        """As `prometheus_client` writes it."""
        metric = Metric(self.name, self.about, self.type)
        metric.samples = [Sample(name, dict(labels), value) for (name, labels), value in self.values.items()]
        return metric


Families = dict[str, Family]


class MergedMetrics:
    """The metrics of a service, from the expositions of processes that come and go."""

    def __init__(self) -> None:
        self._last: dict[int, Families] = {}  # of each living process, when last asked
        self._ended: Families = {}

    def render(self, parts: Mapping[int, bytes]) -> bytes:
        """One exposition in Prometheus' text format.

        Args:
            parts: by process, the expositions of those that answered. Of others, the counts of their last one are
                part of the sums.

        Raises:
            ValueError: a part cannot be read.
        """
        for index, part in parts.items():
            self._take(index, part)
        merged: Families = {}
        _add(merged, (family for index in parts for family in self._last[index].values()))
        absent = (self._last[index] for index in self._last if index not in parts)
        for families in (*absent, self._ended):
            _add(merged, _counted(families))
        return generate_latest(_Shown(merged))

    def ended(self, index: int, part: bytes | None = None) -> None:
        """Keep the counts of a process that has ended; the next one of that index begins at 0.

        Args:
            index: of the process.
            part: its last exposition; None for the one that was rendered last.

        Raises:
            ValueError: the part cannot be read.
        """
        if part is not None:
            self._take(index, part)
        _add(self._ended, _counted(self._last.pop(index, {})))

    def _take(self, index: int, part: bytes) -> None:
        """Read a part. A counted series that it no longer has stays as it was: a tenant's that is not loud any more."""
        families = _parse(part)
        for family in _counted(self._last.get(index, {})):
            now = families.setdefault(family.name, Family(family.name, family.about, family.type))
            for series, value in family.values.items():
                now.values.setdefault(series, value)
        self._last[index] = families


def merge(parts: Sequence[bytes]) -> bytes:
    """One exposition of several; see `MergedMetrics.render`."""
    return MergedMetrics().render(dict(enumerate(parts)))


class _Shown(Collector):
    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return (family.shown() for family in self._families.values())


def _parse(part: bytes) -> Families:
    families: Families = {}
    for metric in text_string_to_metric_families(part.decode()):
        family = families[metric.name] = Family(metric.name, metric.documentation, metric.type)
        for sample in metric.samples:
            family.values[sample.name, tuple(sorted(sample.labels.items()))] = float(sample.value)
    return families


def _counted(families: Families) -> Iterator[Family]:
    return (family for family in families.values() if family.type in COUNTED)


def _add(merged: Families, families: Iterable[Family]) -> None:
    for family in families:
        merged.setdefault(family.name, Family(family.name, family.about, family.type)).add(family)
