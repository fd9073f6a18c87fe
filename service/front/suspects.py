"""Requests that were running when an engine ended: run alone from then on, and refused when that happens again.

Without this, one input that kills the engine is sent again by its client after each 503, and takes everybody down with
it until the breaker opens. Bounded; an answer clears a suspect.
"""

from collections import OrderedDict
from collections.abc import Sequence

from service.ipc.digest import prompt_digest
from service.ipc.messages import Request

MAX_STRIKES = 3
"""Ends of an engine that a content may see: the first in company, the others alone."""
REMEMBER_S = 60.0
MAX_ENTRIES = 4096


class Suspects:
    """Strikes by content, each remembered for a minute."""

    def __init__(self) -> None:
        self._strikes: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._strikes)

    def strike(self, requests: Sequence[Request], now_s: float) -> None:
        """These were running when an engine ended; a content that many of them asked for is struck once."""
        for digest in {prompt_digest(request) for request in requests}:
            self._strikes[digest] = (self._of(digest, now_s) + 1, now_s)
            self._strikes.move_to_end(digest)
        while len(self._strikes) > MAX_ENTRIES:
            self._strikes.popitem(last=False)

    def strikes(self, request: Request, now_s: float) -> int:
        """How often an engine ended while it ran this content; nothing is hashed while nobody is suspected."""
        while self._strikes and now_s - next(iter(self._strikes.values()))[1] >= REMEMBER_S:
            self._strikes.popitem(last=False)
        return self._of(prompt_digest(request), now_s) if self._strikes else 0

    def clear(self, request: Request) -> None:
        """It was answered: an engine has survived it."""
        if self._strikes:
            self._strikes.pop(prompt_digest(request), None)

    def _of(self, digest: bytes, now_s: float) -> int:
        num, last_s = self._strikes.get(digest, (0, now_s))
        return num if now_s - last_s < REMEMBER_S else 0
