"""The engine's loop with tiers that are shared: who is looked up, what is offered, and nobody waits indefinitely."""

import queue
from typing import Any

import numpy as np
import pytest

from service.engine.shared_tiers.look_ups import LookUps
from service.engine.shared_tiers.shared import LookedUp
from service.ipc.messages import Media
from service.ipc.reports import TierReport
from tests.builders import media
from tests.service.engine.loop_rig import LoopRig, image, make_scheduler, request, vectors_of


class SlowTiers:
    """Shared tiers that answer when they are told to, in this thread."""

    def __init__(self, inbox: "queue.Queue[Any]") -> None:
        self.inbox = inbox
        self.asked: list[bytes] = []
        self.offered: list[bytes] = []

    def ask(self, media: Media) -> bool:
        self.asked.append(media.key)
        return True

    def offer(self, key: bytes, features: Any, num_bytes: int) -> None:
        assert num_bytes == features.nbytes
        self.offered.append(key)

    def reports(self) -> tuple[TierReport, ...]:
        return (TierReport(tier="disk", num_hits=7),)

    def answer(self, key: bytes, features: Any) -> None:
        self.inbox.put(LookedUp(key, features))


class TieredRig(LoopRig):
    """The engine's loop with such tiers after its cache."""

    def __init__(self) -> None:
        inbox: queue.Queue[Any] = queue.Queue()
        self.tiers = SlowTiers(inbox)
        look_ups = LookUps(self.tiers.ask, 100)
        assert not look_ups.ask(image(b"the known question's", None))  # never looked up
        scheduler = make_scheduler()
        scheduler.images.look_ups = look_ups
        super().__init__(scheduler, inbox=inbox, shared=self.tiers)


@pytest.fixture
def tiered() -> TieredRig:
    return TieredRig()


def test_an_image_that_a_shared_tier_has_is_not_encoded_and_is_a_hit(tiered: TieredRig) -> None:
    tiered.submit(request(1, 1, image(b"a", 5)), request(2, 2))
    tiered.turn()  # text does not wait for it
    assert tiered.tiers.asked == [b"a"]
    assert tiered.answered == [2]
    tiered.tiers.answer(b"a", np.zeros(4))
    tiered.turn()
    (vector,) = vectors_of(tiered.steps[-1])
    assert (vector.id, vector.num_hits, vector.num_misses) == (1, 1, 0)
    assert [start for step in tiered.steps for start in step.released] == [5]
    assert sum(step.num_encoded for step in tiered.reports) == 0
    assert tiered.tiers.offered == []
    assert [tier.tier for tier in tiered.reports[-1].cache.tiers] == ["device", "disk"]


def test_an_image_that_no_shared_tier_has_is_encoded_and_offered_to_them(tiered: TieredRig) -> None:
    tiered.submit(request(1, 1, image(b"a", 5)))
    tiered.tiers.answer(b"a", None)
    tiered.turn(2)
    (vector,) = vectors_of(tiered.steps[-1])
    assert (vector.id, vector.num_hits, vector.num_misses) == (1, 0, 1)
    assert tiered.tiers.offered == [b"a"]


def test_a_look_up_that_nobody_answers_ends_in_encoding_though_no_message_wakes_the_loop(tiered: TieredRig) -> None:
    tiered.submit(request(1, 1, image(b"a", 5)))
    while not tiered.steps or not vectors_of(tiered.steps[-1]):
        tiered.turn()
    assert [vector.id for vector in vectors_of(tiered.steps[-1])] == [1]
    tiered.tiers.answer(b"a", np.zeros(4))  # late: nobody waits any more
    tiered.submit(request(2, 2))
    tiered.turn()
    assert [vector.id for vector in vectors_of(tiered.steps[-1])] == [2]


def test_features_that_clients_send_are_neither_looked_up_nor_offered(tiered: TieredRig) -> None:
    came = media("f", 4, num_tokens=1, dtype="float16")
    tiered.submit(request(1, 1, came))
    tiered.turn(2)
    assert tiered.answered == [1]
    assert (tiered.tiers.asked, tiered.tiers.offered) == ([], [])
