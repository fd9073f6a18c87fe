"""Requests that are ready for a forward, short and long ones apart, so that a short one never waits after many long.

A batch takes from one queue first. While both have requests they take turns: a batch of short ones alone, which is soon
over, then a batch of long ones, filled up with short ones. So a short request waits for one batch of long ones at most,
and long ones never starve. What came together is long or short together: the candidates of a rerank are one long piece
of work, however short each is. Within each queue tenants share by tokens, and a tenant's requests over HTTP likewise
(`fairness/fair_queue.py`).
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from service.engine.scheduling.waiting import Waiting
from service.fairness.fair_queue import FairQueue

T = TypeVar("T")

SHORT_SHARE = 8
"""A request is short when this many of it, and of what came with it, fit in one step."""


class ShortLongQueue(Generic[T]):
    """Two fair queues. A batch has at most `max_tokens`; a single longer request still runs, alone."""

    def __init__(self, max_batch_tokens: int, max_batch_requests: int) -> None:
        self.max_tokens = max_batch_tokens
        self._max_requests = max_batch_requests
        self._max_short_tokens = max_batch_tokens // SHORT_SHARE
        self._short: FairQueue[Waiting[T]] = FairQueue()
        self._long: FairQueue[Waiting[T]] = FairQueue()
        self._long_is_next = False

    def __len__(self) -> int:
        return len(self._short) + len(self._long)

    def __iter__(self) -> Iterator[Waiting[T]]:
        yield from self._short
        yield from self._long

    @property
    def is_full(self) -> bool:
        """True if there is enough for a batch that takes no more."""
        if len(self) >= self._max_requests:
            return True
        return sum(len(waiting.request.plan.ids) for waiting in self) >= self.max_tokens

    def add(self, waiting: Waiting[T]) -> None:
        """Queue a request among the short or the long ones."""
        request = waiting.request
        cost = len(request.plan.ids)
        is_short = cost <= self._max_short_tokens and request.bundle.num_tokens <= self._max_short_tokens
        queue = self._short if is_short else self._long
        bundle = request.bundle
        queue.add(request.tenant, bundle.party, cost, waiting, bundle.first, bundle.num_tokens)

    def take_batch(self) -> list[Waiting[T]]:
        """Remove the next batch."""
        if self._short and self._long:
            order = (self._long, self._short) if self._long_is_next else (self._short,)
            self._long_is_next = not self._long_is_next
        else:
            order = (self._long, self._short)
            self._long_is_next = False  # where long ones are alone, this is their turn
        batch: list[Waiting[T]] = []
        num_tokens = num_fit = 0
        has_alone = False

        def fits(cost: int, waiting: Waiting[T]) -> bool:
            nonlocal num_tokens, num_fit, has_alone
            is_over = num_fit == self._max_requests or num_tokens + cost > self.max_tokens
            if num_fit and (is_over or has_alone or waiting.request.alone):
                return False
            num_tokens += cost
            num_fit += 1
            has_alone = waiting.request.alone
            return True

        for queue in order:
            batch += queue.take_while(fits)
        return batch

    def keep(self, is_kept: Callable[[Waiting[T]], bool]) -> None:
        """Forget everything else."""
        self._short.keep(is_kept)
        self._long.keep(is_kept)
