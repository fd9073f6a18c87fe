"""Counts by tenant: the loudest have series of their own, all others share one.

A tenant's name is what the key file calls it, never a key. Loud is who had the most inputs since the start; a request
that was refused weighs as one. A name that has a series keeps it until another weighs a quarter more: so those that are
about equal do not take turns, and a series never falls, it begins or ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from service.metrics import REGISTRY

MAX_NAMED = 20
"""Tenants with series of their own."""

LEAD = 1.25
"""So many times the weight of the quietest of these takes its place."""

OTHER = "other"
EVERYONE = "everyone"
"""Where no keys are asked for there is one tenant."""


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
    """Counts by tenant for one registry; used on the event loop."""

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


TENANTS = TenantCounts()
REGISTRY.register(TENANTS)
