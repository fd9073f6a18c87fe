"""Which work the engine does next. Plain Python: no torch, no asyncio, no clock of its own.

A request is *blocked* while a picture of it has no features, then *ready*. Each step is either a language batch of
ready requests or a round of pictures to encode; when both are waiting they take turns, so that text never stands
behind more than one round of pictures, and pictures never starve under text. Requests that want features and no vector
are answered one by one between those steps. Pictures that come as features go the way of all pictures; only the runner
does less for them. Tenants share every kind of step fairly, short requests pass long ones (`lanes.py`), and what is
past its deadline is forgotten before it costs a step.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from service.engine.encoder_cache import EncoderCache
from service.engine.fair_queue import FairQueue
from service.engine.lanes import Lanes
from service.engine.result_cache import ResultCache
from service.engine.steps import EncodeStep as EncodeStep
from service.engine.steps import FeaturesStep as FeaturesStep
from service.engine.steps import LanguageStep as LanguageStep
from service.engine.twins import Twins
from service.engine.waiting import Encode as Encode
from service.engine.waiting import Waiting as Waiting
from service.engine.wanted_pictures import WantedPictures
from service.ipc.messages import FeaturesSpec, Media, PixelSlot, Request

T = TypeVar("T")

MAX_HELD_ROUNDS = 2
"""Ready requests may hold features of so many encode rounds; beyond that only what needs them runs."""


def nobody(_: Media) -> bool:
    """No tier is shared: nobody looks a picture up."""
    return False


class Scheduler(Generic[T]):
    """Waiting requests in, steps out, under a token budget and an encoder budget.

    Attributes:
        cache: features by content key, shared with nobody else.
        twins: requests that need no run of their own.
        max_batch_tokens: tokens of one language step; a single longer request still runs, alone.
        max_batch_requests: requests of one language step.
        max_encoder_tokens: visual tokens of one encode step; a single larger picture still runs, alone.
        num_held_tokens: visual tokens whose features ready requests hold on to.
    """

    def __init__(
        self,
        cache: EncoderCache[T],
        results: ResultCache | None = None,
        *,
        max_batch_tokens: int,
        max_batch_requests: int,
        max_encoder_tokens: int,
        look_up: Callable[[Media], bool] = nobody,
    ) -> None:
        self.cache = cache
        self.twins: Twins[T] = Twins(ResultCache(0) if results is None else results)
        self.max_batch_tokens = max_batch_tokens
        self.max_batch_requests = max_batch_requests
        self.max_encoder_tokens = max_encoder_tokens
        self._ready: Lanes[T] = Lanes(max_batch_tokens, max_batch_requests)
        self._answerable: FairQueue[Waiting[T]] = FairQueue(max_encoder_tokens)
        self._pictures = WantedPictures(cache, max_encoder_tokens, look_up)
        self._next_deadline_s = math.inf  # never later than the first of all that wait
        self.num_held_tokens = 0
        self._encoded_last = False
        self._answered_last = False

    def add(self, request: Request, now_s: float) -> list[int]:
        """Take a request in.

        Returns:
            Starts of its pixel slots that are not needed: their features are cached or under way, or its vector is.
        """
        self._next_deadline_s = min(self._next_deadline_s, request.deadline_s)
        waiting: Waiting[T] = Waiting(request, now_s, [None] * len(request.media))
        if self.twins.spares(waiting):  # its pixels may be what another waits for
            slots = [(media.key, media.slot) for media in request.media if media.slot]
            return [slot.start for key, slot in slots if not self.supply(key, slot)]
        unneeded = [start for i, media in enumerate(request.media) for start in self._pictures.want(waiting, i, media)]
        if waiting.is_ready:
            self._make_ready(waiting)
        return unneeded

    def supply(self, key: bytes, slot: PixelSlot) -> bool:
        """Pixels that were missing have come; False when nobody waits for them any more."""
        return self._pictures.supply(key, slot)

    def expire(self, now_s: float) -> list[int]:
        """Forget the requests whose deadline has passed: who waited for them has been told by the front.

        Args:
            now_s: on the clock of `Request.deadline_s`.

        Returns:
            Starts of pixel slots that nobody needs any more.
        """
        if now_s < self._next_deadline_s:
            return []
        everyone = (one.request for waiting in self._waiting() for one in waiting.everyone)
        released = self.abandon({request.id for request in everyone if request.deadline_s <= now_s})
        left = (one.request.deadline_s for waiting in self._waiting() for one in waiting.everyone)
        self._next_deadline_s = min(left, default=math.inf)
        return released

    def ask_for_pixels(self) -> list[bytes]:
        """Pictures that cannot be encoded because their pixels were not sent; each is asked for once."""
        return self._pictures.ask_for_pixels()

    def next_step(self) -> LanguageStep[T] | EncodeStep[T] | FeaturesStep[T] | None:
        """The next step, or None when nothing can run."""
        is_full = self.num_held_tokens > MAX_HELD_ROUNDS * self.max_encoder_tokens
        if self._answerable and (is_full or not self._answered_last):
            return self._take_answerable()
        self._answered_last = False
        step = self._next_model_step(is_full=is_full)
        return self._take_answerable() if step is None and self._answerable else step

    def _next_model_step(self, *, is_full: bool) -> LanguageStep[T] | EncodeStep[T] | None:
        if self._ready and (self._encoded_last or not self._pictures.can_encode or is_full):
            self._encoded_last = False
            return LanguageStep(self._take_ready())
        if self._pictures.can_encode:
            self._encoded_last = True
            return EncodeStep(self._pictures.take(self.max_encoder_tokens))
        return None

    def encoded(self, encode: Encode[T], features: T, num_bytes: int, seconds: float = 0.0) -> None:
        """A picture has features: give them to everyone who waits, and to the cache."""
        for waiting in self._pictures.settle(encode, features, num_bytes, seconds):
            self._make_ready(waiting)

    def found(self, key: bytes, features: T, num_bytes: int) -> list[int]:
        """A shared tier had a picture's features; returns starts of pixel slots that nobody needs any more."""
        ready, released = self._pictures.found(key, features, num_bytes)
        for waiting in ready:
            self._make_ready(waiting)
        return released

    def not_found(self, key: bytes) -> None:
        """No shared tier has a picture's features, or none says so in time: it is to be encoded."""
        self._pictures.not_found(key)

    def is_wanted(self, encode: Encode[T]) -> bool:
        """Whether somebody still waits for a picture of this step: an earlier one may have failed its requests."""
        return self._pictures.is_wanted(encode)

    def encode_failed(self, encode: Encode[T]) -> tuple[list[Waiting[T]], list[int]]:
        """A picture could not be encoded: everyone who waits for it fails, nobody else.

        Returns:
            The failed requests, and the starts of pixel slots that nobody needs any more, this picture's included.
        """
        failed = list(OrderedDict.fromkeys(waiting for waiting, _ in encode.waiters))
        return [one for waiting in failed for one in waiting.everyone], self._forget(set(failed))

    def abandon(self, ids: Iterable[int]) -> list[int]:
        """Forget requests, but not their twins; returns the starts of pixel slots that nobody needs any more."""
        gone = set(ids)
        return self._forget({waiting for waiting in self._waiting() if not waiting.leave(gone)})

    def _forget(self, gone: set[Waiting[T]]) -> list[int]:
        self.twins.leave(gone)
        self._ready.keep(lambda waiting: waiting not in gone)
        self._answerable.keep(lambda waiting: waiting not in gone)
        self.num_held_tokens = sum(map(_visual_tokens, (*self._ready, *self._answerable)))
        return self._pictures.abandon(gone)

    def _waiting(self) -> Iterator[Waiting[T]]:
        yield from self._ready
        yield from self._answerable
        yield from self._pictures.waiting()

    def _make_ready(self, waiting: Waiting[T]) -> None:
        if isinstance(waiting.request.output, FeaturesSpec):
            self._answerable.add(waiting.request.tenant, _visual_tokens(waiting), waiting)
        else:
            self._ready.add(waiting)
        self.num_held_tokens += _visual_tokens(waiting)

    def _take_answerable(self) -> FeaturesStep[T]:
        self._answered_last = True
        waiting = self._answerable.take()
        self.num_held_tokens -= _visual_tokens(waiting)
        return FeaturesStep(waiting)

    def _take_ready(self) -> list[Waiting[T]]:
        batch = self._ready.take_batch()
        self.twins.leave(batch)
        self.num_held_tokens -= sum(map(_visual_tokens, batch))
        return batch


def _visual_tokens(waiting: Waiting[T]) -> int:
    return sum(media.num_tokens for media in waiting.request.media)
