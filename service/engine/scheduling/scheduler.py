"""The scheduler: chooses the engine's next step. Plain Python: no torch, no asyncio, no clock of its own.

A request is *blocked* while any of its media has no features, then *ready*. A step is either a batch of ready requests
or a round of media to encode; when both wait they take turns, so that text never waits for more than one round of
images, and images never starve under text. Requests for features alone are answered one by one between those steps.
Media that come as features take the same way; only the runner does less for them. Tenants share every kind of step
fairly, short requests pass long ones (`short_long_queue.py`), and requests past their deadline are dropped before they
cost a step.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.scheduling.batch_delay import BatchDelay
from service.engine.scheduling.coalescing import Coalescing
from service.engine.scheduling.result_cache import NO_RESULTS, ResultCache
from service.engine.scheduling.short_long_queue import ShortLongQueue
from service.engine.scheduling.waiting import Encode, EncodeStep, FeaturesStep, ForwardStep, Waiting
from service.engine.scheduling.wanted_images import WantedImages
from service.fairness.fair_queue import FairQueue
from service.ipc.messages import Request
from service.outputs.ask import needs

T = TypeVar("T")

MAX_HELD_ROUNDS = 2
"""Ready requests may hold features of so many encode rounds; beyond that only what needs them runs."""


class Scheduler(Generic[T]):
    """Waiting requests in, steps out, under a token budget and an encoder budget.

    Attributes:
        cache: features by content key.
        coalescing: requests that need no forward of their own.
        ready: requests that wait for a forward; the loop lowers its `max_tokens` where the device has no memory.
        images: media without features, that requests wait for.
        batch_delay: whether a forward waits for requests that are on their way.
        max_batch_requests: requests of one forward.
        max_encoder_tokens: visual tokens of one encode step; a single larger image still runs, alone.
        num_held_tokens: visual tokens whose features ready requests hold on to.
    """

    def __init__(
        self,
        cache: EncoderCache[T],
        results: ResultCache = NO_RESULTS,
        *,
        max_batch_tokens: int,
        max_batch_requests: int,
        max_encoder_tokens: int,
    ) -> None:
        self.cache = cache
        self.coalescing: Coalescing[T] = Coalescing(results)
        self.max_batch_requests = max_batch_requests
        self.max_encoder_tokens = max_encoder_tokens
        self.ready: ShortLongQueue[T] = ShortLongQueue(max_batch_tokens, max_batch_requests)
        self._answerable: FairQueue[Waiting[T]] = FairQueue()
        self.images = WantedImages(cache)
        self.batch_delay = BatchDelay()
        self._next_deadline_s = math.inf  # never later than the first of all that wait
        self.num_held_tokens = 0
        self._encoded_last = False
        self._answered_last = False

    def add(self, request: Request, now_s: float) -> list[int]:
        """Take a request in; return the starts of its slots where features or vector are kept already or under way."""
        if request.deadline_s < self._next_deadline_s:
            self._next_deadline_s = request.deadline_s
        if not request.media:
            waiting: Waiting[T] = Waiting(request, now_s, [])
            if not self.coalescing.spares(waiting):
                self.ready.add(waiting)
            return []
        num_media_tokens = sum(media.num_tokens for media in request.media)
        waiting = Waiting(request, now_s, [None] * len(request.media), num_media_tokens)
        if self.coalescing.spares(waiting):  # its pixels may be what another waits for
            slots = [(media.key, media.slot) for media in request.media if media.slot]
            return [slot.start for key, slot in slots if not self.images.supply(key, slot)]
        unneeded = [start for i, media in enumerate(request.media) for start in self.images.want(waiting, i, media)]
        self._make_ready([waiting])
        return unneeded

    def expire(self, now_s: float) -> list[int]:
        """Drop requests past their deadline, which the front has answered; return starts of slots no longer needed."""
        if now_s < self._next_deadline_s:
            return []
        everyone = (one.request for waiting in self._waiting() for one in waiting.group)
        released = self.abandon({request.id for request in everyone if request.deadline_s <= now_s})
        left = (one.request.deadline_s for waiting in self._waiting() for one in waiting.group)
        self._next_deadline_s = min(left, default=math.inf)
        return released

    def gather_s(self, now_s: float) -> float:
        """Seconds to wait for more requests before the next step; 0 where nothing can be gained."""
        if not self.ready or self.images.can_encode or self._answerable:
            return 0.0
        wait_s = self.batch_delay.wait_s(len(self.ready), now_s)
        return 0.0 if wait_s and self.ready.is_full else wait_s

    def next_step(self) -> ForwardStep[T] | EncodeStep[T] | FeaturesStep[T] | None:
        """The next step, or None when nothing can run."""
        is_full = self.num_held_tokens > MAX_HELD_ROUNDS * self.max_encoder_tokens
        if self._answerable and (is_full or not self._answered_last):
            return self._take_answerable()
        self._answered_last = False
        step = self._next_model_step(is_full=is_full)
        return self._take_answerable() if step is None and self._answerable else step

    def _next_model_step(self, *, is_full: bool) -> ForwardStep[T] | EncodeStep[T] | None:
        if self.ready and (self._encoded_last or not self.images.can_encode or is_full):
            self._encoded_last = False
            batch = self.ready.take_batch()
            self.coalescing.leave(batch)
            self.num_held_tokens -= sum(waiting.num_media_tokens for waiting in batch)
            return ForwardStep(batch)
        if self.images.can_encode:
            self._encoded_last = True
            return EncodeStep(self.images.take(self.max_encoder_tokens))
        return None

    def encoded(self, encode: Encode[T], features: T, num_bytes: int, seconds: float = 0.0) -> None:
        """Give features that were made to the requests that wait for them, and to the cache."""
        self._make_ready(self.images.settle(encode, features, num_bytes, seconds))

    def found(self, key: bytes, features: T, num_bytes: int) -> list[int]:
        """Take features that a shared tier had; return the starts of pixel slots that are no longer needed."""
        waiters, released = self.images.found(key, features, num_bytes)
        self._make_ready(waiters)
        return released

    def encode_failed(self, encode: Encode[T]) -> tuple[list[Waiting[T]], list[int]]:
        """Drop and return the requests that wait for an image that failed, and the starts of slots no longer needed."""
        failed = list(OrderedDict.fromkeys(waiting for waiting, _ in encode.waiters))
        return [one for waiting in failed for one in waiting.group], self._forget(set(failed))

    def abandon(self, ids: Iterable[int]) -> list[int]:
        """Drop requests, but not those coalesced with them; return the starts of pixel slots no longer needed."""
        gone = set(ids)
        return self._forget({waiting for waiting in self._waiting() if not waiting.leave(gone)})

    def forget_front(self, is_its_request: Callable[[int], bool], is_its_slot: Callable[[int], bool]) -> list[int]:
        """Drop requests, by id, and slots, by start, of a front that has gone; return starts not needed any more."""
        everyone = [one.request.id for waiting in self._waiting() for one in waiting.group]
        released = self.abandon([id_ for id_ in everyone if is_its_request(id_)])
        self.images.drop_slots(is_its_slot)
        return released

    def _forget(self, gone: set[Waiting[T]]) -> list[int]:
        self.coalescing.leave(gone)
        self.ready.keep(lambda waiting: waiting not in gone)
        self._answerable.keep(lambda waiting: waiting not in gone)
        self.num_held_tokens = sum(one.num_media_tokens for one in (*self.ready, *self._answerable))
        return self.images.abandon(gone)

    def _waiting(self) -> Iterator[Waiting[T]]:
        yield from self.ready
        yield from self._answerable
        yield from self.images.waiting()

    def _make_ready(self, waitings: Iterable[Waiting[T]]) -> None:
        """Queue those of the requests whose media all have features now."""
        for waiting in waitings:
            if any(features is None for features in waiting.features):
                continue
            if needs(waiting.request.asks) == "nothing":
                request, cost = waiting.request, waiting.num_media_tokens
                one = request.bundle
                self._answerable.add(request.tenant, one.party, cost, waiting, one.first, one.num_tokens)
            else:
                self.ready.add(waiting)
            self.num_held_tokens += waiting.num_media_tokens

    def _take_answerable(self) -> FeaturesStep[T]:
        self._answered_last = True
        waiting = self._answerable.take()
        self.num_held_tokens -= waiting.num_media_tokens
        return FeaturesStep(waiting)
