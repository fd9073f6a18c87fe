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
from collections.abc import Iterable, Iterator
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
from service.ipc.messages import FeaturesSpec, Media, PixelSlot, Request

T = TypeVar("T")

MAX_HELD_ROUNDS = 2
"""Ready requests may hold features of so many encode rounds; beyond that only what needs them runs."""


class Scheduler(Generic[T]):
    """Waiting requests in, steps out, under a token budget and an encoder budget.

    Attributes:
        cache: features by content key, shared with nobody else.
        twins: requests that need no run of their own.
        max_batch_tokens: tokens of one language step; a single longer request still runs, alone.
        max_batch_requests: requests of one language step.
        max_encoder_tokens: visual tokens of one encode step; a single larger picture still runs, alone.
    """

    def __init__(
        self,
        cache: EncoderCache[T],
        results: ResultCache | None = None,
        *,
        max_batch_tokens: int,
        max_batch_requests: int,
        max_encoder_tokens: int,
    ) -> None:
        self.cache = cache
        self.twins: Twins[T] = Twins(ResultCache(0) if results is None else results)
        self.max_batch_tokens = max_batch_tokens
        self.max_batch_requests = max_batch_requests
        self.max_encoder_tokens = max_encoder_tokens
        self._ready: Lanes[T] = Lanes(max_batch_tokens, max_batch_requests)
        self._answerable: FairQueue[Waiting[T]] = FairQueue(max_encoder_tokens)
        self._encodable: FairQueue[Encode[T]] = FairQueue(max_encoder_tokens)  # those of `_encodes` with a slot
        self._encodes: OrderedDict[bytes, Encode[T]] = OrderedDict()
        self._next_deadline_s = math.inf  # never later than the first of all that wait
        self._num_held_tokens = 0
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
        unneeded = [start for i, media in enumerate(request.media) for start in self._look_up(waiting, i, media)]
        if waiting.is_ready:
            self._make_ready(waiting)
        return unneeded

    def supply(self, key: bytes, slot: PixelSlot) -> bool:
        """Pixels that were missing have come; False when nobody waits for them any more."""
        encode = self._encodes.get(key)
        if encode is None or encode.slot is not None:
            return False
        self._give_slot(encode, slot)
        return True

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
        unasked = [encode for encode in self._encodes.values() if encode.slot is None and not encode.is_asked_for]
        for encode in unasked:
            encode.is_asked_for = True
        return [encode.media.key for encode in unasked]

    def next_step(self) -> LanguageStep[T] | EncodeStep[T] | FeaturesStep[T] | None:
        """The next step, or None when nothing can run."""
        is_full = self._num_held_tokens > MAX_HELD_ROUNDS * self.max_encoder_tokens
        if self._answerable and (is_full or not self._answered_last):
            return self._take_answerable()
        self._answered_last = False
        step = self._next_model_step(is_full=is_full)
        return self._take_answerable() if step is None and self._answerable else step

    def _next_model_step(self, *, is_full: bool) -> LanguageStep[T] | EncodeStep[T] | None:
        if self._ready and (self._encoded_last or not self._encodable or is_full):
            self._encoded_last = False
            return LanguageStep(self._take_ready())
        if self._encodable:
            self._encoded_last = True
            return EncodeStep(self._take_encodes())
        return None

    def encoded(self, encode: Encode[T], features: T, num_bytes: int) -> None:
        """A picture has features: give them to everyone who waits, and to the cache."""
        del self._encodes[encode.media.key]
        self.cache.put(encode.media.key, features, num_bytes, encode.tenant)
        for waiting, index in encode.waiters:
            waiting.features[index] = features
            if waiting.is_ready:
                self._make_ready(waiting)

    def is_wanted(self, encode: Encode[T]) -> bool:
        """Whether somebody still waits for a picture of this step: an earlier one may have failed its requests."""
        return self._encodes.get(encode.media.key) is encode

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
        self._num_held_tokens = sum(map(_visual_tokens, (*self._ready, *self._answerable)))
        released = []
        for key, encode in list(self._encodes.items()):
            encode.waiters = [(w, i) for w, i in encode.waiters if w not in gone]
            if not encode.waiters:
                del self._encodes[key]
                released += [encode.slot.start] if encode.slot else []
        self._encodable.keep(self.is_wanted)
        return released

    def _waiting(self) -> Iterator[Waiting[T]]:
        yield from self._ready
        yield from self._answerable
        for encode in self._encodes.values():
            yield from (waiting for waiting, _ in encode.waiters)

    def _look_up(self, waiting: Waiting[T], index: int, media: Media) -> list[int]:
        own = [media.slot.start] if media.slot else []
        if (features := self.cache.get(media.key)) is not None:
            waiting.features[index] = features
            waiting.num_hits += media.dtype is None
            return own
        if (encode := self._encodes.get(media.key)) is not None:
            waiting.num_hits += media.dtype is None
            encode.waiters.append((waiting, index))
            if encode.slot is None and media.slot is not None:
                self._give_slot(encode, media.slot)
                return []
            return own
        waiting.num_misses += media.dtype is None
        encode = self._encodes[media.key] = Encode(media, None, [(waiting, index)])
        if media.slot is not None:
            self._give_slot(encode, media.slot)
        return []

    def _give_slot(self, encode: Encode[T], slot: PixelSlot) -> None:
        encode.slot = slot
        self._encodable.add(encode.tenant, encode.media.num_tokens, encode)

    def _make_ready(self, waiting: Waiting[T]) -> None:
        if isinstance(waiting.request.output, FeaturesSpec):
            self._answerable.add(waiting.request.tenant, _visual_tokens(waiting), waiting)
        else:
            self._ready.add(waiting)
        self._num_held_tokens += _visual_tokens(waiting)

    def _take_answerable(self) -> FeaturesStep[T]:
        self._answered_last = True
        waiting = self._answerable.take()
        self._num_held_tokens -= _visual_tokens(waiting)
        return FeaturesStep(waiting)

    def _take_ready(self) -> list[Waiting[T]]:
        batch = self._ready.take_batch()
        self.twins.leave(batch)
        self._num_held_tokens -= sum(map(_visual_tokens, batch))
        return batch

    def _take_encodes(self) -> list[Encode[T]]:
        taken: list[Encode[T]] = []
        num_tokens = 0
        while self._encodable:
            num_tokens += self._encodable.peek()[0]
            if taken and num_tokens > self.max_encoder_tokens:
                break
            taken.append(self._encodable.take())
        return taken


def _visual_tokens(waiting: Waiting[T]) -> int:
    return sum(media.num_tokens for media in waiting.request.media)
