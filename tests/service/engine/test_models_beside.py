"""Models that share weights take turns: a step of each that has one, whoever has more to do."""

import queue
from typing import Any

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.loop import GuestInbox
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.scheduler import Scheduler
from service.ipc.messages import Ping, Pong, StepStarted, Submit
from tests.service.engine.loop_rig import LoopRig, request

BATCH = 4


def small_batches() -> Scheduler[Any]:
    limits = {"max_batch_tokens": 1000, "max_batch_requests": BATCH, "max_encoder_tokens": 100}
    return Scheduler(EncoderCache(1000), ResultCache(1 << 20), **limits)


class Both:
    """A model, and one that runs beside it."""

    def __init__(self) -> None:
        self.host = LoopRig(small_batches())
        self.inbox = GuestInbox(self.host.inbox)
        self.guest = LoopRig(small_batches(), inbox=queue.Queue())
        self.inbox.loop = self.guest.loop
        self.host.inbox.put(self.guest.loop)
        self.host.loop.turn()

    def round(self) -> None:
        for one in (self.host, self.guest):
            one.loop.turn()


def test_one_that_is_flooded_keeps_another_waiting_for_one_step_of_its_own() -> None:
    both = Both()
    both.host.submit(*[request(id_, 1 + id_) for id_ in range(20 * BATCH)])
    both.inbox.put(Submit(requests=[request(id_, 1 + id_) for id_ in range(2 * BATCH)]))
    for _ in range(2):
        both.round()
    assert len(both.guest.answered) == 2 * BATCH == len(both.host.answered)
    both.round()
    assert len(both.host.answered) == 3 * BATCH


def test_the_same_prompt_is_neither_kept_nor_joined_for_another_model() -> None:
    both = Both()
    for _ in range(2):
        both.host.submit(request(1, 7))
        both.inbox.put(Submit(requests=[request(1, 7)]))
        both.round()
    for one in (both.host, both.guest):
        assert one.answered == [1, 1]
        assert sum(report.num_tokens for report in one.reports) == 1  # the second time it was kept


def test_a_step_is_announced_to_the_keepers_of_all_and_requests_to_their_front_alone() -> None:
    both = Both()
    both.inbox.put(Submit(requests=[request(5, 7)]))
    both.inbox.put(Ping())
    both.round()
    both.round()
    assert [one.ids for one in both.guest.started] == [[5]]
    assert [one.ids for one in both.host.started] == [[]]
    for one in (both.host, both.guest):
        assert [step.number for step in one.fronts.told if isinstance(step, StepStarted)] == [1]
    assert [one.after for one in both.guest.sent if isinstance(one, Pong)] == [0]
