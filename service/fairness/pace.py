"""How long the work of each party takes: what to expect of work that does not show how long it will take."""

from collections import OrderedDict

from service.fairness.party import Party

NEWEST_SHARE = 0.25
"""Weight of the newest piece in the mean."""
MAX_KNOWN = 4096
"""Parties that are remembered; least recently seen out first."""


class Paces:
    """Moving means of time, of each tenant; without keys of each request, since all are one tenant then."""

    def __init__(self) -> None:
        self._mean_s: OrderedDict[str | int, float] = OrderedDict()

    def expected_s(self, party: Party) -> float:
        """The mean of a party's pieces; 0 where none is known."""
        return self._mean_s.get(party.tenant or party.request, 0.0)

    def observe(self, party: Party, seconds: float) -> None:
        """Count a piece that has taken so long."""
        key = party.tenant or party.request
        mean_s = self._mean_s.pop(key, seconds)
        self._mean_s[key] = mean_s + NEWEST_SHARE * (seconds - mean_s)
        while len(self._mean_s) > MAX_KNOWN:
            self._mean_s.popitem(last=False)
