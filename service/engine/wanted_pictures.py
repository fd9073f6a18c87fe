"""The pictures that requests wait for: in the cache, being looked for behind it, or to be encoded. Plain Python.

A picture is encoded once however many wait for it (single flight), and looked up once before that where there are
tiers that processes share. Those who wait hold its features from the moment they exist.
"""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from typing import Generic, TypeVar

from service.engine.cache.cost import encode_cost, encode_tokens, read_cost
from service.engine.encoder_cache import EncoderCache
from service.engine.fair_queue import FairQueue
from service.engine.waiting import Encode, Waiting
from service.ipc.messages import Media, PixelSlot

T = TypeVar("T")


class WantedPictures(Generic[T]):
    """Pictures of waiting requests that have no features yet.

    Attributes:
        cache: features by content key.
        look_up: has shared tiers asked for a picture; False where nobody will, and it is to be encoded at once.
    """

    def __init__(self, cache: EncoderCache[T], quantum: int, look_up: Callable[[Media], bool]) -> None:
        self.cache = cache
        self.look_up = look_up
        self._made_s = self._made_cost = 0.0  # of all pictures that were encoded here
        self._encodes: OrderedDict[bytes, Encode[T]] = OrderedDict()
        self._encodable: FairQueue[Encode[T]] = FairQueue(quantum)  # those with a slot that nobody looks for

    @property
    def can_encode(self) -> bool:
        """Whether a picture could be encoded now."""
        return bool(self._encodable)

    def want(self, waiting: Waiting[T], index: int, media: Media) -> list[int]:
        """Give a request a picture's features, or let it wait for them.

        Returns:
            The start of the picture's slot, where its pixels are not needed.
        """
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
        encode = self._encodes[media.key] = Encode(media, None, [(waiting, index)])
        if media.dtype is None and self.look_up(media):
            encode.seeker = waiting
        else:
            waiting.num_misses += media.dtype is None
        if media.slot is not None:
            self._give_slot(encode, media.slot)
        return []

    def supply(self, key: bytes, slot: PixelSlot) -> bool:
        """Pixels that were missing have come; False when nobody waits for them any more."""
        encode = self._encodes.get(key)
        if encode is None or encode.slot is not None:
            return False
        self._give_slot(encode, slot)
        return True

    def ask_for_pixels(self) -> list[bytes]:
        """Pictures that cannot be encoded because their pixels were not sent; each is asked for once."""
        unasked = [encode for encode in self._encodes.values() if encode.needs_pixels and not encode.is_asked_for]
        for encode in unasked:
            encode.is_asked_for = True
        return [encode.media.key for encode in unasked]

    def take(self, max_tokens: int) -> list[Encode[T]]:
        """Pictures to encode next, of at most so many tokens together, but at least one."""
        taken: list[Encode[T]] = []
        num_tokens = 0
        while self._encodable:
            num_tokens += self._encodable.peek()[0]
            if taken and num_tokens > max_tokens:
                break
            taken.append(self._encodable.take())
        return taken

    def settle(
        self, encode: Encode[T], features: T, num_bytes: int, seconds: float, *, is_found: bool = False
    ) -> list[Waiting[T]]:
        """A picture has features: give them to everyone who waits, and to the cache.

        Args:
            encode: the picture.
            features: of it.
            num_bytes: what they take.
            seconds: that making them took here; not for those that were found.
            is_found: another process made them; what that took is estimated by what pictures take here.

        Returns:
            Those who waited for nothing else.
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
        self.cache.spare(seconds * (num_uses - (not is_found)))
        self.cache.put(media.key, features, num_bytes, encode.tenant, cost=cost, num_uses=num_uses, seconds=seconds)
        for waiting, index in encode.waiters:
            waiting.features[index] = features
        return [w for w in OrderedDict.fromkeys(w for w, _ in encode.waiters) if w.is_ready]

    def found(self, key: bytes, features: T, num_bytes: int) -> tuple[list[Waiting[T]], list[int]]:
        """A shared tier had a picture's features.

        Returns:
            Those who waited for nothing else, and the start of its slot, if it had pixels; nothing when nobody waits.
        """
        encode = self._encodes.get(key)
        if encode is None:
            return [], []
        if encode.seeker is not None:
            encode.seeker.num_hits += 1
        ready = self.settle(encode, features, num_bytes, 0.0, is_found=True)
        self._encodable.keep(self.is_wanted)  # it may have come late, after the deadline
        return ready, [encode.slot.start] if encode.slot else []

    def not_found(self, key: bytes) -> None:
        """No shared tier has it, or none answers in time: it is to be encoded."""
        encode = self._encodes.get(key)
        if encode is None or encode.seeker is None:
            return
        encode.seeker.num_misses += 1
        encode.seeker = None
        if encode.slot is not None:
            self._give_slot(encode, encode.slot)

    def is_wanted(self, encode: Encode[T]) -> bool:
        """Whether somebody still waits for a picture: an earlier one may have failed its requests."""
        return self._encodes.get(encode.media.key) is encode

    def abandon(self, gone: Container[Waiting[T]]) -> list[int]:
        """Forget the pictures of these requests only; the starts of slots that nobody needs any more."""
        released = []
        for key, encode in list(self._encodes.items()):
            encode.waiters = [(w, i) for w, i in encode.waiters if w not in gone]
            if not encode.waiters:
                del self._encodes[key]
                released += [encode.slot.start] if encode.slot else []
        self._encodable.keep(self.is_wanted)
        return released

    def waiting(self) -> Iterator[Waiting[T]]:
        """Everyone who waits, once for each picture."""
        for encode in self._encodes.values():
            yield from (waiting for waiting, _ in encode.waiters)

    def _give_slot(self, encode: Encode[T], slot: PixelSlot) -> None:
        encode.slot = slot
        if encode.seeker is None:
            self._encodable.add(encode.tenant, encode_tokens(encode.media, slot), encode)
