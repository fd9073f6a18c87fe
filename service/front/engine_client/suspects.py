"""Requests that were running when an engine ended: run alone from then on, and refused when that happens again.

Without this, one input that kills the engine is sent again by its client after each 503, and fails the others with it
until the breaker opens. Bounded; an answer clears a suspect.
"""

from collections import OrderedDict
from collections.abc import Sequence

from service.ipc.messages import Request
from service.ipc.prompt_digest import prompt_digest

MAX_FAILED_RUNS = 3
"""Ends of an engine that a content may see: the first in company, the others alone."""
REMEMBER_S = 60.0
MAX_ENTRIES = 4096


class Suspects:
    """Failed runs by content, each remembered for a minute.

    Attributes:
        failed_runs: their number, and when the last one was. Empty as long as no engine ends.
    """

    def __init__(self) -> None:
        self.failed_runs: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def add(self, digests: Sequence[bytes], now_s: float) -> None:
        """These contents were running when an engine ended, each in one request or more."""
        for digest in digests:
            self.failed_runs[digest] = (self._of(digest, now_s) + 1, now_s)
            self.failed_runs.move_to_end(digest)
        while len(self.failed_runs) > MAX_ENTRIES:
            self.failed_runs.popitem(last=False)

    def num_failed_runs(self, requests: Sequence[Request], now_s: float) -> dict[int, int]:
        """Number of engines that ended while they ran a request's content, by id; hashes nothing without suspects."""
        while self.failed_runs and now_s - next(iter(self.failed_runs.values()))[1] >= REMEMBER_S:
            self.failed_runs.popitem(last=False)
        if not self.failed_runs:
            return {}
        return {request.id: self._of(prompt_digest(request), now_s) for request in requests}

    def clear(self, request: Request) -> None:
        """Forget a content that was answered: an engine has survived it."""
        self.failed_runs.pop(prompt_digest(request), None)

    def _of(self, digest: bytes, now_s: float) -> int:
        num, last_s = self.failed_runs.get(digest, (0, now_s))
        return num if now_s - last_s < REMEMBER_S else 0
