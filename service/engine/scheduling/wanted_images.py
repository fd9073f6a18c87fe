"""Media that requests wait for: cached, being looked up in shared tiers, or to be encoded. Plain Python.

An image is encoded once however many wait for it (single flight), and looked up once before that where there are
tiers that processes share. Requests that wait hold its features from the moment they exist.
"""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from typing import Generic, TypeVar

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.encoder_cache.tier import encode_cost, read_cost
from service.engine.scheduling.waiting import Encode, Waiting
from service.engine.shared_tiers.look_ups import LookUps
from service.fairness.fair_queue import FairQueue
from service.ipc.messages import Media, PixelSlot

T = TypeVar("T")

BYTES_PER_TOKEN = 6_144
"""Pixels that one visual token of Qwen3-VL stands for: two frames of 32 x 32, three bytes each."""


class WantedImages(Generic[T]):
    """Images of waiting requests that have no features yet.

    Attributes:
        cache: features by content key.
        look_ups: in shared tiers, where the engine has set them; else None.
    """

    def __init__(self, cache: EncoderCache[T]) -> None:
        self.cache = cache
        self.look_ups: LookUps | None = None
        self._made_s = self._made_cost = 0.0  # of all images that were encoded here
        self._encodes: OrderedDict[bytes, Encode[T]] = OrderedDict()
        self._encodable: FairQueue[Encode[T]] = FairQueue()  # those with a slot that are not being looked up

    @property
    def can_encode(self) -> bool:
        """True if an image could be encoded now."""
        return bool(self._encodable)

    def want(self, waiting: Waiting[T], index: int, media: Media) -> list[int]:
        """Give a request an image's features, or let it wait; return a slot's start whose pixels are not needed."""
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
        encode = self._encodes[media.key] = Encode(media, waiting.request.tenant, [(waiting, index)])
        if self.look_ups is not None and media.dtype is None and self.look_ups.ask(media):
            encode.seeker = waiting
        else:
            waiting.num_misses += media.dtype is None
        if media.slot is not None:
            self._give_slot(encode, media.slot)
        return []

    def supply(self, key: bytes, slot: PixelSlot) -> bool:
        """Take pixels that were missing; False when no request waits for them any more."""
        encode = self._encodes.get(key)
        if encode is None or encode.slot is not None:
            return False
        self._give_slot(encode, slot)
        return True

    def ask_for_pixels(self) -> dict[bytes, int]:
        """Keys of images that cannot be encoded without pixels that were not sent; each is returned once.

        With the id of a request that waits for it: whoever sent that has the image.
        """
        encodes = self._encodes.values()
        unasked = [one for one in encodes if one.slot is None and one.seeker is None and not one.is_asked_for]
        for encode in unasked:
            encode.is_asked_for = True
        return {encode.media.key: encode.waiters[0][0].request.id for encode in unasked}

    def take(self, max_tokens: int) -> list[Encode[T]]:
        """Remove the images to encode next: at most `max_tokens` together, but at least one."""
        num_tokens = 0

        def fits(cost: int, encode: Encode[T]) -> bool:
            nonlocal num_tokens
            if num_tokens and num_tokens + cost > max_tokens:
                return False
            num_tokens += cost
            return True

        return self._encodable.take_while(fits)

    def settle(
        self, encode: Encode[T], features: T, num_bytes: int, seconds: float, *, is_found: bool = False
    ) -> list[Waiting[T]]:
        """Give an image's features to the requests that wait for it, and to the cache.

        `seconds` is what making them took here. Where another process made them (`is_found`), it is estimated from the
        images that were encoded here. Returns the requests that waited for it, each once.
        """
        media = encode.media
        del self._encodes[media.key]
        cost = (encode_cost if media.dtype is None else read_cost)(media.num_tokens)
        num_uses = len(encode.waiters)
        if is_found:
            seconds = cost * self._made_s / self._made_cost if self._made_cost else 0.0
        elif media.dtype is None:
            self._made_s += seconds
            self._made_cost += cost
        else:
            seconds = 0.0  # it came as features
        self.cache.spared_s += seconds * (num_uses - (not is_found))
        self.cache.put(media.key, features, num_bytes, encode.tenant, cost=cost, num_uses=num_uses, seconds=seconds)
        for waiting, index in encode.waiters:
            waiting.features[index] = features
        return list(OrderedDict.fromkeys(waiting for waiting, _ in encode.waiters))

    def found(self, key: bytes, features: T, num_bytes: int) -> tuple[list[Waiting[T]], list[int]]:
        """Take features that a shared tier had; return who waited for it, and its slot's start, if it had pixels."""
        encode = self._encodes.get(key)
        if encode is None:
            return [], []
        if encode.seeker is not None:
            encode.seeker.num_hits += 1
        waiters = self.settle(encode, features, num_bytes, 0.0, is_found=True)
        self._encodable.keep(self._is_wanted)  # it may have come late, after the deadline
        return waiters, [encode.slot.start] if encode.slot else []

    def not_found(self, key: bytes) -> None:
        """Have an image encoded that no shared tier has, or none gives in time."""
        encode = self._encodes.get(key)
        if encode is None or encode.seeker is None:
            return
        encode.seeker.num_misses += 1
        encode.seeker = None
        if encode.slot is not None:
            self._give_slot(encode, encode.slot)

    def abandon(self, gone: Container[Waiting[T]]) -> list[int]:
        """Drop requests, and images that no other wants; return the starts of slots that are no longer needed."""
        released = []
        for key, encode in list(self._encodes.items()):
            left = [(w, i) for w, i in encode.waiters if w not in gone]
            if len(left) < len(encode.waiters):
                encode.is_asked_for = False  # it may be who has left that was asked
            encode.waiters = left
            if not left:
                del self._encodes[key]
                released += [encode.slot.start] if encode.slot else []
        self._encodable.keep(self._is_wanted)
        return released

    def drop_slots(self, is_gone: Callable[[int], bool]) -> None:
        """Take slots from images that others still wait for, by their starts: their pixels are asked for again."""
        for encode in self._encodes.values():
            if encode.slot is None or is_gone(encode.slot.start):
                encode.slot, encode.is_asked_for = None, False
        self._encodable.keep(lambda encode: self._is_wanted(encode) and encode.slot is not None)

    def waiting(self) -> Iterator[Waiting[T]]:
        """The requests that wait, once for each image."""
        for encode in self._encodes.values():
            yield from (waiting for waiting, _ in encode.waiters)

    def _is_wanted(self, encode: Encode[T]) -> bool:
        return self._encodes.get(encode.media.key) is encode

    def _give_slot(self, encode: Encode[T], slot: PixelSlot) -> None:
        """Let an image be encoded once it is not looked up any more.

        A round of images counts its own tokens for it, but no fewer than its pixels would be elsewhere: a tower that
        gives a whole image as one token works no less for that.
        """
        encode.slot = slot
        if encode.seeker is None:
            least = 0 if encode.media.dtype else slot.num_bytes // BYTES_PER_TOKEN
            cost, first = max(encode.media.num_tokens, least), encode.waiters[0][0].request
            whole = first.bundle
            self._encodable.add(encode.tenant, whole.party, cost, encode, whole.first, whole.num_tokens)
