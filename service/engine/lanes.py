"""Requests that are ready for the language model, in two lanes, so that a short one never waits behind many long ones.

A step takes from one lane first. While both have requests the lanes take turns: a step of short ones alone, which is
soon over, then a step of long ones, whose rest of the budget short ones fill. So a short request stands behind one step
of long ones at most, and long ones never starve. Within a lane tenants share by tokens (`fair_queue.py`).

Source: reference/security-reliability.md section 3, "head-of-line blocking".
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from service.engine.fair_queue import FairQueue
from service.engine.waiting import Waiting

T = TypeVar("T")

SHORT_SHARE = 8
"""A request is short when this many of it fit in one step."""


class Lanes(Generic[T]):
    """Two fair queues.

    Args:
        max_batch_tokens: tokens of one step; a single longer request still runs, alone.
        max_batch_requests: requests of one step.
    """

    def __init__(self, max_batch_tokens: int, max_batch_requests: int) -> None:
        self._max_tokens = max_batch_tokens
        self._max_requests = max_batch_requests
        quantum = max(1, max_batch_tokens // SHORT_SHARE)
        self._short: FairQueue[Waiting[T]] = FairQueue(quantum)
        self._long: FairQueue[Waiting[T]] = FairQueue(quantum)
        self._long_is_next = False

    def __bool__(self) -> bool:
        return bool(self._short) or bool(self._long)

    def __iter__(self) -> Iterator[Waiting[T]]:
        yield from self._short
        yield from self._long

    def add(self, waiting: Waiting[T]) -> None:
        """Queue a request in its lane."""
        cost = len(waiting.request.token_ids)
        lane = self._short if cost * SHORT_SHARE <= self._max_tokens else self._long
        lane.add(waiting.request.tenant, cost, waiting)

    def take_batch(self) -> list[Waiting[T]]:
        """Remove what the next step runs."""
        if self._short and self._long:
            order = (self._long, self._short) if self._long_is_next else (self._short,)
            self._long_is_next = not self._long_is_next
        else:
            order = (self._long, self._short)
        batch: list[Waiting[T]] = []
        num_tokens = 0
        for lane in order:
            while lane and len(batch) < self._max_requests:
                cost, waiting = lane.peek()
                is_alone = waiting.request.alone or (batch and batch[0].request.alone)
                if batch and (is_alone or num_tokens + cost > self._max_tokens):
                    break
                num_tokens += cost
                batch.append(lane.take())
        return batch

    def keep(self, is_kept: Callable[[Waiting[T]], bool]) -> None:
        """Forget everything else."""
        self._short.keep(is_kept)
        self._long.keep(is_kept)
