"""Two threads between the loop and what may be slow: nothing waits, nothing is lost but time, no failure gets out."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from service.engine.shared_tiers import shared as shared_module
from service.engine.shared_tiers.health import TierCounts
from service.engine.shared_tiers.shared import LookedUp, SharedTiers
from service.ipc.messages import Media
from service.ipc.reports import TierReport
from tests.builders import media

MANY_S = 10.0


class MemoryTier:
    """A tier in a dict, that can be held up."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.calls: list[str] = []
        self.counts = TierCounts("disk")
        self.goes_on = threading.Event()
        self.goes_on.set()

    def get(self, name: str) -> bytes | None:
        self.goes_on.wait(MANY_S)
        self.calls.append(f"get {name}")
        return self.stored.get(name)

    def put(self, name: str, blob: bytes) -> None:
        self.goes_on.wait(MANY_S)
        if blob == b"bug":
            raise RuntimeError("a bug")
        self.stored[name] = blob

    def refuse(self, name: str) -> None:
        del self.stored[name]

    def report(self) -> TierReport:
        return self.counts.report(0, len(self.stored), is_up=True)


class TextCodec:
    """Features are text, and `broken` is what no image has."""

    def name(self, key: bytes) -> str:
        return key.decode()

    def hold(self, key: bytes, features: str) -> Callable[[], bytes]:
        return features.encode

    def read(self, media: Media, blob: bytes) -> str | None:
        if blob == b"bug":
            raise RuntimeError("a bug")
        return None if blob == b"broken" else blob.decode()


class Rig:
    """Two tiers, and what was delivered."""

    def __init__(self) -> None:
        self.near, self.far = MemoryTier(), MemoryTier()
        self.inbox: queue.Queue[LookedUp[str]] = queue.Queue()
        self.tiers: SharedTiers[str] = SharedTiers([self.near, self.far], TextCodec(), self.inbox.put)

    def look_up(self, name: str) -> Any:
        assert self.tiers.ask(media(name))
        answer = self.inbox.get(timeout=MANY_S)
        assert answer.key == name.encode()
        return answer.features


def test_what_is_offered_is_written_to_every_tier_and_found_in_the_nearest() -> None:
    rig = Rig()
    rig.tiers.offer(b"a", "features of a", 10)
    rig.tiers.wait_until_written()
    assert rig.look_up("a") == "features of a"
    assert rig.near.stored == rig.far.stored == {"a": b"features of a"}
    assert rig.far.calls == []
    assert rig.look_up("b") is None
    assert rig.far.calls == ["get b"]
    assert [report.num_entries for report in rig.tiers.reports()] == [1, 1]


def test_what_only_a_farther_tier_has_is_written_to_the_nearer_one() -> None:
    rig = Rig()
    rig.far.stored["a"] = b"from afar"
    assert rig.look_up("a") == "from afar"
    rig.tiers.wait_until_written()
    assert rig.near.stored == {"a": b"from afar"}


def test_what_is_broken_in_one_tier_is_removed_there_and_looked_for_in_the_next() -> None:
    rig = Rig()
    rig.near.stored["a"], rig.far.stored["a"] = b"broken", b"sound"
    assert rig.look_up("a") == "sound"
    rig.tiers.wait_until_written()
    assert rig.near.stored == {"a": b"sound"}
    assert (rig.near.report().num_hits, rig.far.report().num_hits) == (0, 1)


def test_a_bug_in_either_thread_is_a_miss_and_the_thread_lives() -> None:
    rig = Rig()
    rig.near.stored["a"] = b"bug"
    assert rig.look_up("a") is None
    rig.tiers.offer(b"b", "bug", 1)
    rig.tiers.offer(b"c", "sound", 1)
    rig.tiers.wait_until_written()
    assert rig.look_up("c") == "sound"


def test_neither_asking_nor_offering_ever_waits_and_writes_that_would_are_dropped() -> None:
    rig = Rig()
    rig.near.goes_on.clear()
    began_s = time.monotonic()
    asked = [rig.tiers.ask(media(str(number))) for number in range(1000)]
    for number in range(1000):
        rig.tiers.offer(b"%d" % number, "x", 1)
    assert time.monotonic() - began_s < MANY_S / 2  # neither waited for a tier that answers after `MANY_S`
    rig.near.goes_on.set()
    assert shared_module.MAX_LOOK_UPS <= asked.count(True) <= shared_module.MAX_LOOK_UPS + 1
    rig.tiers.wait_until_written()
    num_written = len(rig.near.stored)
    assert shared_module.MAX_WRITES <= num_written <= shared_module.MAX_WRITES + 1
    assert rig.near.report().num_rejected == rig.far.report().num_rejected == 1000 - num_written


def test_writes_that_wait_are_bounded_in_bytes_too() -> None:
    rig = Rig()
    rig.near.goes_on.clear()
    for number in range(10):
        rig.tiers.offer(b"%d" % number, "x", shared_module.MAX_WRITE_BYTES // 4)
    rig.near.goes_on.set()
    rig.tiers.wait_until_written()
    assert len(rig.near.stored) == 4
    rig.tiers.offer(b"later", "x", shared_module.MAX_WRITE_BYTES)
    rig.tiers.wait_until_written()
    assert "later" in rig.near.stored
