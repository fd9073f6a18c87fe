"""The request and tenant that work belongs to, in a context variable of the request's task."""

from contextvars import ContextVar
from itertools import count
from secrets import randbits

import msgspec


class Party(msgspec.Struct, frozen=True):
    """A request and its tenant.

    Attributes:
        tenant: name of the tenant, whose requests have one share together.
        request: a number of its own for each request; requests of a tenant share evenly.
    """

    tenant: str
    request: int


NOBODY = Party("", 0)
"""The service itself."""

CURRENT_PARTY: ContextVar[Party] = ContextVar("party", default=NOBODY)
"""The party that this task works for."""

_NUMBERS = count(1 + randbits(48))
"""Several fronts share an engine: their numbers should differ."""


def open_party(tenant: str) -> None:
    """Begin a new request of a tenant in this task."""
    CURRENT_PARTY.set(Party(tenant, next(_NUMBERS)))
