"""Whose work it is, wherever in the call tree it is asked for: it travels with the request's task, as its stages do."""

from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Party:
    """A request and its tenant.

    Attributes:
        tenant: those who have one share together.
        request: another number for each request: those of a tenant share that evenly.
    """

    tenant: str
    request: int


NOBODY = Party("", 0)
"""The service itself."""

_CURRENT: ContextVar[Party] = ContextVar("party", default=NOBODY)
_NUMBERS = count(1)


def open_party(tenant: str) -> None:
    """A new request of a tenant begins in this task.

    Args:
        tenant: whose it is.
    """
    _CURRENT.set(Party(tenant, next(_NUMBERS)))


def current_party() -> Party:
    """Whose work this task does."""
    return _CURRENT.get()
