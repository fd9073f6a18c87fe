"""The engine's loop with tiers that are shared: who is looked up, what is offered, and nobody waits for ever."""

import queue
from typing import Any

import numpy as np
import pytest

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.loop import EngineLoop
from service.engine.scheduling.scheduler import Scheduler
from service.engine.shared_tiers.look_ups import LookUps
from service.engine.shared_tiers.shared import LookedUp
from service.ipc.messages import Media, PixelSlot, Submit
from service.ipc.reports import TierReport
from tests.service.engine.troubled_runner import RecordingAnnouncer, TroubledRunner, image, request, steps


class SlowTiers:
    """Shared tiers that answer when they are told to, in this thread."""

    def __init__(self, inbox: "queue.SimpleQueue[Any]") -> None:
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


@pytest.fixture
def with_tiers() -> tuple[EngineLoop, SlowTiers, list[Any]]:
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sent: list[Any] = []
    tiers = SlowTiers(inbox)
    look_ups = LookUps(tiers.ask, 100)
    assert not look_ups.ask(image(b"the known question's", None))  # never looked up
    scheduler: Scheduler[Any] = Scheduler(
        EncoderCache(1000),
        max_batch_tokens=1000,
        max_batch_requests=64,
        max_encoder_tokens=100,
        look_ups=look_ups,
    )
    runner: Any = TroubledRunner()
    return EngineLoop(sent.append, RecordingAnnouncer(sent), inbox, scheduler, runner, tiers, look_ups), tiers, sent  # type: ignore[arg-type]


def test_an_image_that_a_shared_tier_has_is_not_encoded_and_is_a_hit(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    tiers.inbox.put(Submit(requests=[request(1, 1, image(b"a", 5)), request(2, 2)]))
    loop.turn()  # text does not wait for it
    assert tiers.asked == [b"a"]
    assert [vector.id for step in steps(sent) for vector in step.vectors] == [2]
    tiers.answer(b"a", np.zeros(4))
    loop.turn()
    (vector,) = steps(sent)[-1].vectors
    assert (vector.id, vector.num_hits, vector.num_misses) == (1, 1, 0)
    assert [start for step in steps(sent) for start in step.released] == [5]
    assert sum(step.num_encoded for step in steps(sent)) == 0
    assert tiers.offered == []
    assert [tier.tier for tier in steps(sent)[-1].cache.tiers] == ["device", "disk"]


def test_an_image_that_no_shared_tier_has_is_encoded_and_offered_to_them(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    tiers.inbox.put(Submit(requests=[request(1, 1, image(b"a", 5))]))
    tiers.answer(b"a", None)
    loop.turn()
    loop.turn()
    (vector,) = steps(sent)[-1].vectors
    assert (vector.id, vector.num_hits, vector.num_misses) == (1, 0, 1)
    assert tiers.offered == [b"a"]


def test_a_look_up_that_nobody_answers_ends_in_encoding_though_no_message_wakes_the_loop(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    tiers.inbox.put(Submit(requests=[request(1, 1, image(b"a", 5))]))
    while not steps(sent) or not steps(sent)[-1].vectors:
        loop.turn()
    assert [vector.id for vector in steps(sent)[-1].vectors] == [1]
    tiers.answer(b"a", np.zeros(4))  # late: nobody waits any more
    tiers.inbox.put(Submit(requests=[request(2, 2)]))
    loop.turn()
    assert [vector.id for vector in steps(sent)[-1].vectors] == [2]


def test_features_that_clients_send_are_neither_looked_up_nor_offered(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    came = Media(key=b"f", grid_thw=(1, 2, 2), offset=0, num_tokens=1, dtype="float16", slot=PixelSlot(4, 1))
    tiers.inbox.put(Submit(requests=[request(1, 1, came)]))
    loop.turn()
    loop.turn()
    assert [vector.id for step in steps(sent) for vector in step.vectors] == [1]
    assert (tiers.asked, tiers.offered) == ([], [])
