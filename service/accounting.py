"""Accounting of requests: times of their stages, histograms, counts by tenant, and the work after their answers.

The outermost middleware opens a record of stages, which travels with the request's task: code anywhere in the call tree
notes its stage in it. Outside of a request nothing is noted. Knows no HTTP.

Requests that were batched are answered one right after the other, and their clients ask again: what is done between two
answers holds up all that follow, and the next batch with them. Counts and log lines are due a moment later, together.
"""

import asyncio
import logging
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import INF, floatToGoString

from service.logs import LineHandler

logger = logging.getLogger("cenote.process")

STAGES = ("body", "decode", "fetch", "prepare", "media", "engine", "write")
"""In order: reading the body, decoding it, fetching media by URL, prompts, pixels, the engine's part, writing."""

ENGINE_STAGES = ("queue", "inference")
"""Parts of `engine`: before the forward, where images are encoded too, and the forward itself."""

DELAY_S = 0.005
"""By then the next batch has been sent to the engine."""
MAX_AT_ONCE = 32
"""Done in one turn of the loop: a millisecond and a half of requests."""
MAX_DUE = 1024
"""More is done without delay: memory is not for the work of a burst."""

MAX_NAMED = 20
"""Tenants with series of their own."""

LEAD = 1.25
"""So many times the weight of the quietest of these takes its place."""

OTHER = "other"
EVERYONE = "everyone"
"""Where no keys are asked for there is one tenant."""


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


NOTED: ContextVar[Stages | None] = ContextVar("stages", default=None)
"""The record of the request that this task works for."""


def unnoted() -> Context:
    """This task's context, for tasks of its own that run side by side: their stages are not noted."""
    context = copy_context()
    context.run(NOTED.set, None)
    return context


class stage(msgspec.Struct):  # noqa: N801  # read as a word, as `contextlib.suppress` is; a generator would be three calls more
    """Note how long the `with` takes, however it ends; `name` is one of `STAGES`."""

    name: str
    began_s: float = 0.0

    def __enter__(self) -> None:
        self.began_s = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if (stages := NOTED.get()) is not None:
            stages.intervals.append((self.name, self.began_s, time.perf_counter()))


class DeferredAccounting:
    """Work that is due; used on the event loop."""

    def __init__(self) -> None:
        self._due: deque[Callable[[], None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None  # that has been asked to come back

    def add(self, work: Callable[[], None]) -> None:
        """Do `work` soon, in the order of all that is added."""
        self._due.append(work)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # or the one that was asked has ended
            self._loop = loop
            loop.call_later(DELAY_S, self._do, MAX_AT_ONCE, True)
        if len(self._due) > MAX_DUE:
            self._do(1, False)

    def finish(self) -> None:
        """Do all of it now: somebody looks at the counts, or the process ends."""
        self._do(len(self._due), False)

    def _do(self, most: int, comes_back: bool) -> None:
        """Do the first of it; what it logs is one write. Where the loop has come back, it comes again for the rest."""
        handlers = [one for one in logging.getLogger().handlers if isinstance(one, LineHandler)]
        for one in handlers:
            one.held = []
        try:
            for _ in range(min(most, len(self._due))):
                work = self._due.popleft()
                try:
                    work()
                except Exception:  # the others are due all the same
                    logger.exception("a request could not be counted")
        finally:
            for one in handlers:
                one.write_held()
        if comes_back:
            if self._due and self._loop is not None:
                self._loop.call_soon(self._do, MAX_AT_ONCE, True)
            else:
                self._loop = None


DEFERRED = DeferredAccounting()
"""The process's own."""


class LoopHistogram(Collector):
    """A histogram with one label: `prometheus_client`'s own takes two locks and six calls for a value.

    A request is observed ten times, in what it took as a whole and in each of its stages.

    Args:
        buckets: upper bounds, ascending, without the last.
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


@dataclass(slots=True)
class TenantCount:
    """Of one tenant since the start; `weight` is what it is ranked by."""

    requests: int = 0
    inputs: int = 0
    tokens: int = 0
    errors: int = 0
    weight: int = 0


SERIES = {
    "requests": "Requests of a tenant that have ended",
    "inputs": "Inputs of a tenant that were answered, each with a vector or an error",
    "tokens": "Tokens of a tenant's inputs",
    "errors": "Requests of a tenant that were answered with an error",
}


class TenantCounts(Collector):
    """Counts by tenant: the loudest have series of their own, all others share one. Used on the event loop.

    A tenant's name is what the key file calls it, never a key. Loud is who had the most inputs since the start; a
    request that was refused weighs as one. A name that has a series keeps it until another weighs a quarter more: so
    those that are about equal do not take turns, and a series never falls, it begins or ends.
    """

    def __init__(self) -> None:
        self._counts: dict[str, TenantCount] = {}
        self._named: dict[str, TenantCount] = {}
        self._other = TenantCount()
        self._least = 0  # of the named, when last looked: they only rise

    def count(self, tenant: str, *, requests: int = 0, inputs: int = 0, tokens: int = 0, errors: int = 0) -> None:
        """Add what a tenant has had, to its own series and while it has none to the one that is shared.

        Args:
            requests: that are over.
            inputs: that have been answered, with so many `tokens`.
            errors: of these requests.
        """
        own = self._counts.setdefault(tenant, TenantCount())
        own.weight += inputs + errors
        for one in (own,) if tenant in self._named or self._is_let_in(tenant, own) else (own, self._other):
            one.requests += requests
            one.inputs += inputs
            one.tokens += tokens
            one.errors += errors

    def collect(self) -> Iterator[CounterMetricFamily]:
        """The series, as they are now."""
        counts = {**self._named, OTHER: self._other}
        for name, about in SERIES.items():
            family = CounterMetricFamily(f"cenote_tenant_{name}", about, labels=["tenant"])
            for tenant, count in counts.items():
                family.add_metric([tenant], getattr(count, name))
            yield family

    def _is_let_in(self, tenant: str, count: TenantCount) -> bool:
        """Give a tenant a series if it is loud enough."""
        if tenant == OTHER:
            return False
        if len(self._named) == MAX_NAMED:
            if count.weight <= LEAD * self._least:
                return False
            quietest = min(self._named, key=lambda name: self._named[name].weight)
            self._least = self._named[quietest].weight
            if count.weight <= LEAD * self._least:
                return False
            del self._named[quietest]
        self._named[tenant] = count
        return True
