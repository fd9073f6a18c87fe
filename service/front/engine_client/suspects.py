"""Requests that were running when an engine ended: run alone from then on, and refused when that happens again.

Without this, one input that kills the engine is sent again by its client after each 503, and fails the others with it
until the breaker opens. Bounded; an answer clears a suspect.
"""

from collections import OrderedDict
from collections.abc import Sequence

from service.ipc.messages import Request
from service.ipc.prompt_digest import prompt_digest

MAX_STRIKES = 3
"""Ends of an engine that a content may see: the first in company, the others alone."""
REMEMBER_S = 60.0
MAX_ENTRIES = 4096


class Suspects:
    """Strikes by content, each remembered for a minute.

    Attributes:
        strikes_by_digest: their number, and when the last one was. Empty as long as no engine ends.
    """

    def __init__(self) -> None:
        self.strikes_by_digest: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def strike(self, requests: Sequence[Request], now_s: float) -> list[bytes]:
        """These were running when an engine ended; a content that many of them asked for is struck once.

        Returns:
            The contents' digests.
        """
        digests = list({prompt_digest(request) for request in requests})
        self.strike_digests(digests, now_s)
        return digests

    def strike_digests(self, digests: Sequence[bytes], now_s: float) -> None:
        """These contents were running when an engine ended."""
        for digest in digests:
            self.strikes_by_digest[digest] = (self._of(digest, now_s) + 1, now_s)
            self.strikes_by_digest.move_to_end(digest)
        while len(self.strikes_by_digest) > MAX_ENTRIES:
            self.strikes_by_digest.popitem(last=False)

    def strikes(self, requests: Sequence[Request], now_s: float) -> dict[int, int]:
        """Number of engines that ended while they ran a request's content, by id; hashes nothing without suspects."""
        while self.strikes_by_digest and now_s - next(iter(self.strikes_by_digest.values()))[1] >= REMEMBER_S:
            self.strikes_by_digest.popitem(last=False)
        if not self.strikes_by_digest:
            return {}
        return {request.id: self._of(prompt_digest(request), now_s) for request in requests}

    def clear(self, request: Request) -> None:
        """Forget a content that was answered: an engine has survived it."""
        self.strikes_by_digest.pop(prompt_digest(request), None)

    def _of(self, digest: bytes, now_s: float) -> int:
        num, last_s = self.strikes_by_digest.get(digest, (0, now_s))
        return num if now_s - last_s < REMEMBER_S else 0
