"""Ghosts: keys of features that are not kept, and how often they were wanted, to tell reuse from a passing scan.

Source: the ghost lists of N. Megiddo and D. Modha, "ARC", FAST 2003.
"""

from collections import OrderedDict

MAX_KEYS = 8192


class Ghosts:
    """A bounded memory of keys, the oldest forgotten first."""

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._frequencies: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._frequencies)

    def add(self, key: bytes, frequency: int) -> None:
        """Remember a key that is not kept."""
        self._frequencies[key] = frequency
        self._frequencies.move_to_end(key)
        while len(self._frequencies) > self._max_keys:
            self._frequencies.popitem(last=False)

    def take(self, key: bytes) -> int:
        """How often a key was wanted before, forgotten with this; 0 when it is not known."""
        return self._frequencies.pop(key, 0)
