"""How many tokens a language step may have: the setting, or less where the device had no memory for so many."""

RAISE_AFTER = 16
"""Steps in a row that went well before the ceiling is tried a little higher."""
RAISE_BY = 1.1
FLOOR_SHARE = 64
"""The ceiling never falls below this part of the setting: a moment without memory must not cost an hour of it."""


class TokenCeiling:
    """Learned downwards at once and upwards slowly, as congestion windows are.

    Attributes:
        max_tokens: what the operator allows; the ceiling never passes it.
        num_tokens: the ceiling now.
    """

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self.num_tokens = max_tokens
        self._num_well = 0

    def ran_out(self, num_tokens: int) -> None:
        """A step of `num_tokens` had no memory: half of it is the new ceiling."""
        self.num_tokens = max(1, self.max_tokens // FLOOR_SHARE, min(self.num_tokens, num_tokens // 2))
        self._num_well = 0

    def went_well(self) -> None:
        """A step had memory: after enough of them the ceiling rises by a tenth."""
        if self.num_tokens == self.max_tokens:
            return
        self._num_well += 1
        if self._num_well >= RAISE_AFTER:
            self.num_tokens = min(self.max_tokens, int(self.num_tokens * RAISE_BY) + 1)
            self._num_well = 0
