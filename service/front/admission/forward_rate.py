"""Best rate of recent forwards, and the least time that prompts take: finds requests that nobody could do in time.

Full forwards count alone: a lone query says little of what a full one does in a second. A token of a long prompt costs
more than one of a short prompt, so rates are kept by length, in powers of two of a forward's longest prompt; a length
that was not measured has at most the rate of the next shorter one.

Some models compute what prompts of a forward begin with once. Which do is not known here, so a forward has two rates:
of all its tokens, and of those that are left when beginnings count once. Prompts take at least the shorter of the two
times that follow.
"""

import time
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

WINDOW_S = 300.0
"""A rate is forgotten after one to two of these."""
SAMPLE_S = 0.25
"""Forwards are measured so often at most."""
LEAST_SAMPLES = 3
"""The first forwards of an engine may be slow: a rate counts when so many were measured."""
FULL_SHARE = 2
"""A forward is full when it has one token in so many of those that it may have."""
MAX_KEPT_TOKENS = 1024
"""Of a beginning that is kept from one forward to the next (`service/model/packed/prefix_cache.py`)."""

Tokens = Sequence[int]


class Amount(NamedTuple):
    """Some tokens, or a number of them in a second.

    Attributes:
        whole: of all prompts.
        own: of them, with what several of a forward begin with counted once.
    """

    whole: float = 0.0
    own: float = 0.0


class Rate(NamedTuple):
    """The best that was measured.

    Attributes:
        per_s: tokens in a second.
    """

    per_s: Amount = Amount()
    num_samples: int = 0

    def and_other(self, other: "Rate") -> "Rate":
        """The best of both."""
        best = Amount(*map(max, zip(self.per_s, other.per_s, strict=True)))
        return Rate(best, self.num_samples + other.num_samples)


class ForwardRate:
    """The best rates of the last minutes, by length.

    Args:
        now: a monotonic clock, in seconds.

    Attributes:
        full_tokens: a forward of fewer is not noted.
    """

    def __init__(self, max_batch_tokens: int, now: Callable[[], float] = time.monotonic) -> None:
        self._max_batch_tokens = max_batch_tokens
        self.full_tokens = max_batch_tokens / FULL_SHARE
        self._now = now
        self._recent: dict[int, Rate] = {}
        self._before: dict[int, Rate] = {}
        self._turned_s = now()
        self._sampled_s = -SAMPLE_S

    def ran(self, prompts: Sequence[Tokens], share: float, seconds: float) -> None:
        """Note a full forward.

        Args:
            prompts: that it ran for, of this front.
            share: of its prompts, that these are.
        """
        if seconds <= 0 or self._now() < self._sampled_s + SAMPLE_S:
            return
        self._sampled_s = self._now()
        self._turn()
        length, num_tokens = max(map(len, prompts)).bit_length(), sum(map(len, prompts))
        own = sum(one.own for one in self._by_length(prompts).values())
        rate = Rate(Amount(num_tokens / share / seconds, own / share / seconds), 1)
        self._recent[length] = self._recent.get(length, Rate()).and_other(rate)

    def least_s(self, prompts: Collection[Tokens], enough_s: float) -> float:
        """Seconds that prompts take at least, on a server that does nothing else; 0 where no rate is known.

        Args:
            enough_s: what takes no longer need not be known exactly, which would cost a second for a million tokens.
        """
        least_s = self.plain_s(map(len, prompts))
        return least_s if least_s <= enough_s else min(self._seconds(self._by_length(prompts)))

    def plain_s(self, lengths: Iterable[int]) -> float:
        """The same for prompts of so many tokens, all of which have to be run."""
        self._turn()
        amounts: dict[int, Amount] = {}
        for num_tokens in lengths:
            length = num_tokens.bit_length()
            amounts[length] = Amount(amounts.get(length, Amount()).whole + num_tokens)
        return self._seconds(amounts).whole

    def _seconds(self, amounts: Mapping[int, Amount]) -> Amount:
        """Seconds that tokens take by each of the rates."""
        whole = own = 0.0
        for length, amount in amounts.items():
            if (rate := self._best(length)) is not None:
                whole += amount.whole / rate.whole
                own += amount.own / rate.own
        return Amount(whole, own)

    def _best(self, length: int) -> Amount | None:
        """The rates of prompts of a length, or of the longest shorter ones that are known."""
        for known in sorted(self._recent.keys() | self._before.keys(), reverse=True):
            rate = self._recent.get(known, Rate()).and_other(self._before.get(known, Rate()))
            if known <= length and rate.num_samples >= LEAST_SAMPLES:
                return rate.per_s
        return None

    def _turn(self) -> None:
        """Forget what is old."""
        if self._now() < self._turned_s + WINDOW_S:
            return
        is_all_old = self._now() >= self._turned_s + 2 * WINDOW_S
        self._before, self._recent, self._turned_s = {} if is_all_old else self._recent, {}, self._now()

    def _by_length(self, prompts: Collection[Tokens]) -> dict[int, Amount]:
        """Their tokens by length, as they would fill forwards: equal ones run once, and alike ones together."""
        amounts: dict[int, Amount] = {}
        before, num_in_forward = b"", self._max_batch_tokens
        for one in sorted({array("i", prompt).tobytes() for prompt in prompts}):
            num_tokens = len(one) // 4
            num_in_forward += num_tokens
            num_common = _num_common(before, one)
            if num_in_forward > self._max_batch_tokens:
                num_in_forward, num_common = num_tokens, min(num_common, MAX_KEPT_TOKENS)
            length, before = num_tokens.bit_length(), one
            whole, own = amounts.get(length, Amount())
            amounts[length] = Amount(whole + num_tokens, own + num_tokens - num_common)
        return amounts


def _num_common(one: bytes, other: bytes) -> int:
    """Number of tokens that two prompts have in common at their start."""
    num = min(len(one), len(other)) // 4
    differ = np.frombuffer(one, "i", num) != np.frombuffer(other, "i", num)
    return int(differ.argmax()) if differ.any() else num
