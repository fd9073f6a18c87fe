"""Content that failed by itself, kept out of the model for a while. Bounded; knows no request and no clock."""

from collections import OrderedDict

QUARANTINE_S = 60.0
MAX_ENTRIES = 1024


class Quarantine:
    """Digests and until when they are refused.

    Whoever sends the same again is refused at once, with the answer that he had, and costs the others nothing. The time
    runs from the failure and is not made longer by asking: afterwards the content gets another chance.

    Source: reference/security-reliability.md section 3, "poison item".
    """

    def __init__(self, *, quarantine_s: float = QUARANTINE_S, max_entries: int = MAX_ENTRIES) -> None:
        self._quarantine_s = quarantine_s
        self._max_entries = max_entries
        self._until_s: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._until_s)

    def add(self, digest: bytes, now_s: float) -> None:
        """Refuse this content from now on; the oldest entry makes room."""
        self._until_s.pop(digest, None)
        self._until_s[digest] = now_s + self._quarantine_s
        while len(self._until_s) > self._max_entries:
            self._until_s.popitem(last=False)

    def holds(self, digest: bytes, now_s: float) -> bool:
        """Whether this content is refused; entries whose time is over are dropped on the way."""
        while self._until_s and next(iter(self._until_s.values())) <= now_s:
            self._until_s.popitem(last=False)
        return digest in self._until_s
