"""Tiers that processes share, behind the engine's own: asked and written to by two threads, never by the engine's loop.

In: images to look for, features to keep. Out: `LookedUp`, handed to the loop's inbox. Tiers are asked in order, and
what a farther one has is written to the nearer ones. A write that would have to wait is dropped. What fails is a miss.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from service.engine.shared_tiers.health import TierCounts
from service.ipc.messages import Media
from service.ipc.reports import TierReport

T = TypeVar("T")

logger = logging.getLogger("cenote.engine")

MAX_LOOK_UPS = 256
MAX_WRITES = 256
MAX_WRITE_BYTES = 256 << 20
"""Features that wait to be written; beyond either bound more are dropped."""


@dataclass(frozen=True, slots=True)
class LookedUp(Generic[T]):
    """The answer to a look-up: a message of the engine's own, beside the front's.

    Attributes:
        key: content key of the image.
        features: on the device; None where no shared tier has them.
    """

    key: bytes
    features: T | None


class SharedTier(Protocol):
    """Bytes by name, on a disk or a server. Used by two threads at once; nothing is raised, what fails is a miss.

    Whatever `get` gives is then counted as a hit, or refused.
    """

    @property
    def counts(self) -> TierCounts: ...  # noqa: D102

    def get(self, name: str) -> bytes | None:
        """The bytes under a name, or None."""
        ...

    def put(self, name: str, blob: bytes) -> None:
        """Store bytes."""
        ...

    def refuse(self, name: str) -> None:
        """Count a miss and remove what `get` gave: it was not valid."""
        ...

    def report(self) -> TierReport:
        """The tier as it is now."""
        ...


class Codec(Protocol[T]):
    """Features as bytes, and back."""

    def name(self, key: bytes) -> str:
        """The name that the features of an image are stored under."""
        ...

    def hold(self, key: bytes, features: T) -> Callable[[], bytes]:
        """A function that gives the bytes, in another thread."""
        ...

    def read(self, media: Media, blob: bytes) -> T | None:
        """Features of an image; None when the bytes are not exactly those."""
        ...


class SharedTiers(Generic[T]):
    """Two threads, one for look-ups and one for writes, with a bounded queue each."""

    def __init__(
        self, tiers: Sequence[SharedTier], codec: Codec[T], deliver: Callable[[LookedUp[T]], None], name: str = "cache"
    ) -> None:
        """Ask `tiers`, nearest first; hand what is found, or None, to `deliver`."""
        self._tiers = tiers
        self._codec = codec
        self._deliver = deliver
        self._asked: queue.Queue[Media] = queue.Queue(MAX_LOOK_UPS)
        self._writes: queue.Queue[tuple[str, Callable[[], bytes], int, Sequence[SharedTier]]] = queue.Queue(MAX_WRITES)
        self._num_write_bytes = 0
        self._lock = threading.Lock()
        for work in (self._look_up_forever, self._write_forever):
            threading.Thread(target=work, name=f"{name}-{work.__name__}", daemon=True).start()

    def ask(self, media: Media) -> bool:
        """Have an image looked up; False when too many wait."""
        try:
            self._asked.put_nowait(media)
        except queue.Full:
            return False
        return True

    def offer(self, key: bytes, features: T, num_bytes: int) -> None:
        """Have features written to every tier, or dropped."""
        self._enqueue(self._codec.name(key), self._codec.hold(key, features), num_bytes, self._tiers)

    def reports(self) -> tuple[TierReport, ...]:
        """The tiers as they are now, nearest first."""
        return tuple(tier.report() for tier in self._tiers)

    def wait_until_written(self) -> None:
        """Return when nothing waits to be written."""
        self._writes.join()

    def _enqueue(self, name: str, blob: Callable[[], bytes], num_bytes: int, tiers: Sequence[SharedTier]) -> None:
        with self._lock:
            has_room = self._num_write_bytes + num_bytes <= MAX_WRITE_BYTES and not self._writes.full()
            if has_room:  # all additions are under this lock
                self._num_write_bytes += num_bytes
                self._writes.put_nowait((name, blob, num_bytes, tiers))
        if not has_room:
            for tier in tiers:
                tier.counts.add("num_rejected")

    def _look_up_forever(self) -> None:
        while True:
            self._look_up(self._asked.get())  # by a function, so that nothing is held on to between two

    def _look_up(self, media: Media) -> None:
        try:
            features = self._find(media)
        except Exception:  # no memory for it, say: whatever it is, the image can be encoded
            logger.exception("features could not be read back")
            features = None
        self._deliver(LookedUp(media.key, features))

    def _find(self, media: Media) -> T | None:
        name = self._codec.name(media.key)
        for number, tier in enumerate(self._tiers):
            blob = tier.get(name)
            if blob is None:
                continue
            features = self._codec.read(media, blob)
            if features is None:
                tier.refuse(name)
                continue
            tier.counts.add("num_hits")
            if number:
                self._enqueue(name, _giver(blob), len(blob), self._tiers[:number])
            return features
        return None

    def _write_forever(self) -> None:
        while True:
            self._write(*self._writes.get())

    def _write(self, name: str, blob: Callable[[], bytes], num_bytes: int, tiers: Sequence[SharedTier]) -> None:
        try:
            data = blob()
            for tier in tiers:
                tier.put(name, data)
        except Exception:
            logger.exception("features could not be written")
        finally:
            with self._lock:
                self._num_write_bytes -= num_bytes
            self._writes.task_done()


def _giver(blob: bytes) -> Callable[[], bytes]:
    return lambda: blob
