"""Which work the engine does next. Plain Python: no torch, no asyncio, no clock of its own.

A request is *blocked* while a picture of it has no features, then *ready*. Each step is either a language batch of
ready requests or a round of pictures to encode; when both are waiting they take turns, so that text never stands
behind more than one round of pictures, and pictures never starve under text. Requests that want features and no vector
are answered one by one between those steps. Pictures that come as features go the way of all pictures; only the runner
does less for them.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from service.engine.encoder_cache import EncoderCache
from service.ipc.messages import FeaturesSpec, Media, PixelSlot, Request

T = TypeVar("T")

MAX_HELD_ROUNDS = 2
"""Ready requests may hold features of so many encode rounds; beyond that only what needs them runs."""


@dataclass(slots=True, eq=False)
class Waiting(Generic[T]):
    """A request on its way, and the features that it holds on to.

    The request owns its features from the moment they exist, so an eviction can never take them away from it.
    """

    request: Request
    arrived_s: float
    features: list[T | None]
    num_hits: int = 0
    num_misses: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether every picture has its features."""
        return all(feature is not None for feature in self.features)


@dataclass(slots=True, eq=False)
class Encode(Generic[T]):
    """One picture to be encoded once, and everyone who waits for it (single flight)."""

    media: Media
    slot: PixelSlot | None
    waiters: list[tuple[Waiting[T], int]] = field(default_factory=list)
    is_asked_for: bool = False


@dataclass(frozen=True, slots=True)
class LanguageStep(Generic[T]):
    """Requests to run through the language model together."""

    batch: list[Waiting[T]]


@dataclass(frozen=True, slots=True)
class FeaturesStep(Generic[T]):
    """A request whose answer are features that are there."""

    waiting: Waiting[T]


@dataclass(frozen=True, slots=True)
class EncodeStep(Generic[T]):
    """Pictures whose features to make, each by itself: by the vision tower, or out of what was sent."""

    encodes: list[Encode[T]]


class Scheduler(Generic[T]):
    """Waiting requests in, steps out, under a token budget and an encoder budget.

    Attributes:
        cache: features by content key, shared with nobody else.
        max_batch_tokens: tokens of one language step; a single longer request still runs, alone.
        max_batch_requests: requests of one language step.
        max_encoder_tokens: visual tokens of one encode step; a single larger picture still runs, alone.
    """

    def __init__(
        self, cache: EncoderCache[T], *, max_batch_tokens: int, max_batch_requests: int, max_encoder_tokens: int
    ) -> None:
        self.cache = cache
        self.max_batch_tokens = max_batch_tokens
        self.max_batch_requests = max_batch_requests
        self.max_encoder_tokens = max_encoder_tokens
        self._ready: deque[Waiting[T]] = deque()
        self._answerable: deque[Waiting[T]] = deque()
        self._encodes: OrderedDict[bytes, Encode[T]] = OrderedDict()
        self._num_held_tokens = 0
        self._encoded_last = False
        self._answered_last = False

    def add(self, request: Request, now_s: float) -> list[int]:
        """Take a request in.

        Returns:
            Starts of its pixel slots that are not needed: their features are cached or under way.
        """
        waiting: Waiting[T] = Waiting(request, now_s, [None] * len(request.media))
        unneeded = [start for i, media in enumerate(request.media) for start in self._look_up(waiting, i, media)]
        if waiting.is_ready:
            self._make_ready(waiting)
        return unneeded

    def supply(self, key: bytes, slot: PixelSlot) -> bool:
        """Pixels that were missing have come; False when nobody waits for them any more."""
        encode = self._encodes.get(key)
        if encode is None or encode.slot is not None:
            return False
        encode.slot = slot
        return True

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
        encodable = any(encode.slot is not None for encode in self._encodes.values())
        if self._ready and (self._encoded_last or not encodable or is_full):
            self._encoded_last = False
            return LanguageStep(self._take_ready())
        if encodable:
            self._encoded_last = True
            return EncodeStep(self._take_encodes())
        return None

    def encoded(self, encode: Encode[T], features: T, num_bytes: int) -> None:
        """A picture has features: give them to everyone who waits, and to the cache."""
        del self._encodes[encode.media.key]
        self.cache.put(encode.media.key, features, num_bytes)
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
        return failed, self.abandon({waiting.request.id for waiting in failed})

    def abandon(self, ids: Iterable[int]) -> list[int]:
        """Forget requests; returns the starts of pixel slots that nobody needs any more."""
        gone = set(ids)
        self._ready = deque(waiting for waiting in self._ready if waiting.request.id not in gone)
        self._answerable = deque(waiting for waiting in self._answerable if waiting.request.id not in gone)
        self._num_held_tokens = sum(map(_visual_tokens, (*self._ready, *self._answerable)))
        released = []
        for key, encode in list(self._encodes.items()):
            encode.waiters = [(w, i) for w, i in encode.waiters if w.request.id not in gone]
            if not encode.waiters:
                del self._encodes[key]
                released += [encode.slot.start] if encode.slot else []
        return released

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
                encode.slot = media.slot
                return []
            return own
        waiting.num_misses += media.dtype is None
        self._encodes[media.key] = Encode(media, media.slot, [(waiting, index)])
        return []

    def _make_ready(self, waiting: Waiting[T]) -> None:
        (self._answerable if isinstance(waiting.request.output, FeaturesSpec) else self._ready).append(waiting)
        self._num_held_tokens += _visual_tokens(waiting)

    def _take_answerable(self) -> FeaturesStep[T]:
        self._answered_last = True
        waiting = self._answerable.popleft()
        self._num_held_tokens -= _visual_tokens(waiting)
        return FeaturesStep(waiting)

    def _take_ready(self) -> list[Waiting[T]]:
        batch: list[Waiting[T]] = []
        num_tokens = 0
        while self._ready and len(batch) < self.max_batch_requests:
            num_tokens += len(self._ready[0].request.token_ids)
            if batch and (num_tokens > self.max_batch_tokens or self._ready[0].request.alone or batch[0].request.alone):
                break
            batch.append(self._ready.popleft())
        self._num_held_tokens -= sum(map(_visual_tokens, batch))
        return batch

    def _take_encodes(self) -> list[Encode[T]]:
        taken: list[Encode[T]] = []
        num_tokens = 0
        for encode in self._encodes.values():
            if encode.slot is None:
                continue
            num_tokens += encode.media.num_tokens
            if taken and num_tokens > self.max_encoder_tokens:
                break
            taken.append(encode)
        return taken


def _visual_tokens(waiting: Waiting[T]) -> int:
    return sum(media.num_tokens for media in waiting.request.media)
