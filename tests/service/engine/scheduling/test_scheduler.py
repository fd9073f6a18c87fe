"""The scheduler's decisions, with strings for features: no torch, no process, no clock."""

import math
from typing import Any

import msgspec
import pytest

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.scheduling.scheduler import Scheduler
from service.engine.scheduling.waiting import EncodeStep, FeaturesStep, ForwardStep
from service.ipc.messages import Bundle, Media, PixelSlot, Request
from service.outputs.features import FeaturesAsk
from tests.builders import engine_request, media


def scheduler(max_bytes: int = 1000, **budgets: int) -> Scheduler[str]:
    defaults = {"max_batch_tokens": 100, "max_batch_requests": 8, "max_encoder_tokens": 50}
    return Scheduler(EncoderCache(max_bytes), **(defaults | budgets))


def request(id_: int, num_tokens: int = 10, *images: Media) -> Request:
    """No two ids have the same prompt: those that do are of `test_coalescing.py`."""
    return engine_request(id_, [id_] * num_tokens, *images)


def ids(step: object) -> list[int]:
    assert isinstance(step, ForwardStep)
    return [waiting.request.id for waiting in step.batch]


def keys(step: object) -> list[bytes]:
    assert isinstance(step, EncodeStep)
    return [encode.media.key for encode in step.encodes]


def encode_all(one: Scheduler[str], step: object, num_bytes: int = 100) -> None:
    assert isinstance(step, EncodeStep)
    for encode in step.encodes:
        one.encoded(encode, f"features of {encode.media.key.decode()}", num_bytes)


@pytest.mark.parametrize(
    ("max_batch_requests", "lengths", "steps"),
    [
        (8, [40, 40, 40, 15], [[0, 1], [2, 3]]),
        (8, [500, 50], [[0], [1]]),  # one over the budget runs alone
        (2, [1, 1, 1], [[0, 1], [2]]),
    ],
)
def test_text_goes_in_order_under_the_budgets_of_tokens_and_requests(
    max_batch_requests: int, lengths: list[int], steps: list[list[int]]
) -> None:
    one = scheduler(max_batch_requests=max_batch_requests)
    for id_, num_tokens in enumerate(lengths):
        one.add(request(id_, num_tokens), 0.0)
    assert [ids(one.next_step()) for _ in steps] == steps
    assert one.next_step() is None


def test_an_image_is_encoded_before_its_request_runs_and_kept() -> None:
    one = scheduler()
    assert one.add(request(1, 20, media("a")), 0.0) == []
    step = one.next_step()
    assert keys(step) == [b"a"]
    encode_all(one, step)
    batch = one.next_step()
    assert ids(batch) == [1]
    assert batch.batch[0].features == ["features of a"]
    assert (batch.batch[0].num_hits, batch.batch[0].num_misses) == (0, 1)
    assert one.add(request(2, 20, media("a", start=64)), 0.0) == [64]  # its pixels are not needed
    again = one.next_step()
    assert (again.batch[0].num_hits, again.batch[0].num_misses) == (1, 0)


def test_one_image_asked_for_by_many_is_encoded_once() -> None:
    one = scheduler()
    unneeded = [start for id_ in range(8) for start in one.add(request(id_, 5, media("a", start=id_)), 0.0)]
    assert unneeded == list(range(1, 8))
    step = one.next_step()
    assert keys(step) == [b"a"]
    encode_all(one, step)
    batch = one.next_step()
    assert ids(batch) == list(range(8))
    assert sum(waiting.num_misses for waiting in batch.batch) == 1
    assert sum(waiting.num_hits for waiting in batch.batch) == 7


def test_an_image_twice_in_one_request_is_encoded_once() -> None:
    one = scheduler()
    one.add(request(1, 30, media("a"), media("b", start=5), media("a", start=None)), 0.0)
    step = one.next_step()
    assert keys(step) == [b"a", b"b"]
    encode_all(one, step)
    assert one.next_step().batch[0].features == ["features of a", "features of b", "features of a"]


def test_the_encoder_budget_holds_and_a_large_image_runs_alone() -> None:
    one = scheduler()
    for id_, num_tokens in enumerate([30, 30, 200]):
        one.add(request(id_, 5, media(str(id_), num_tokens=num_tokens)), 0.0)
    taken = []
    while (step := one.next_step()) is not None:
        if isinstance(step, EncodeStep):
            taken.append(keys(step))
            encode_all(one, step)
    assert taken == [[b"0"], [b"1"], [b"2"]]


def test_text_waits_for_at_most_one_round_of_images_and_images_do_not_starve() -> None:
    one = scheduler(max_encoder_tokens=10)
    for id_ in range(4):
        one.add(request(id_, 5, media(str(id_))), 0.0)
    kinds = []
    for turn in range(6):
        one.add(request(100 + turn, 5), 0.0)  # text keeps coming
        step = one.next_step()
        kinds.append(type(step).__name__)
        if isinstance(step, EncodeStep):
            encode_all(one, step)
    assert kinds == ["EncodeStep", "ForwardStep"] * 3


def test_an_eviction_never_takes_features_from_a_waiting_request() -> None:
    one = scheduler(max_bytes=100, max_encoder_tokens=10)
    one.add(request(1, 20, media("a"), media("b", start=1)), 0.0)
    one.add(request(2, 20, media("b", start=2)), 0.0)
    encode_all(one, one.next_step())
    encode_all(one, one.next_step())  # two want b: it pushes a out of the cache
    assert (b"a" in one.cache, b"b" in one.cache) == (False, True)
    assert one.next_step().batch[0].features == ["features of a", "features of b"]


def test_missing_pixels_are_asked_for_once_and_supplied_later_or_by_another_request() -> None:
    one = scheduler()
    one.add(request(1, 5, media("a", start=None)), 0.0)
    one.add(request(2, 5, media("b", start=None)), 0.0)
    assert list(one.images.ask_for_pixels()) == [b"a", b"b"]
    assert list(one.images.ask_for_pixels()) == []
    assert one.next_step() is None
    assert one.images.supply(b"a", PixelSlot(7, 1))
    assert not one.images.supply(b"a", PixelSlot(8, 1))  # somebody was faster: this slot is not needed
    assert one.add(request(3, 5, media("b", start=3)), 0.0) == []
    encode_all(one, one.next_step())
    assert sorted(ids(one.next_step())) == [1, 2, 3]


def test_an_image_that_fails_fails_its_requests_only_and_takes_their_other_images_along() -> None:
    one = scheduler()
    one.add(request(1, 5, media("bad"), media("good", start=1), media("other", start=4)), 0.0)
    one.add(request(2, 5, media("bad", start=2)), 0.0)
    one.add(request(3, 5, media("good", start=3)), 0.0)
    bad, good, other = one.next_step().encodes
    failed, released = one.encode_failed(bad)
    assert [waiting.request.id for waiting in failed] == [1, 2]
    assert sorted(released) == [0, 4]
    assert other.waiters == []
    one.encoded(good, "features", 10)
    assert ids(one.next_step()) == [3]
    assert one.next_step() is None


def test_the_abandoned_are_forgotten_and_their_pixels_given_back() -> None:
    one = scheduler()
    one.add(request(1, 5, media("a", start=11)), 0.0)
    one.add(request(2, 5, media("b", start=22)), 0.0)
    one.add(request(3, 5, media("b", start=33)), 0.0)
    one.add(request(4, 5), 0.0)
    assert one.abandon([1, 2, 4, 99]) == [11]
    assert keys(one.next_step()) == [b"b"]  # the third still waits for it


def test_no_cache_still_encodes_once_for_those_who_wait_together() -> None:
    one = scheduler(max_bytes=0)
    one.add(request(1, 5, media("a")), 0.0)
    one.add(request(2, 5, media("a", start=1)), 0.0)
    encode_all(one, one.next_step())
    assert ids(one.next_step()) == [1, 2]
    one.add(request(3, 5, media("a", start=2)), 0.0)
    assert keys(one.next_step()) == [b"a"]


def test_features_that_wait_behind_text_are_bounded() -> None:
    """Text fills the queue; images must not pile up features after it, round after round."""
    one = scheduler(max_batch_requests=1, max_encoder_tokens=10)
    for id_ in range(50):
        one.add(request(id_, 5), 0.0)
    for id_ in range(50, 70):
        one.add(request(id_, 15, media(str(id_), start=id_)), 0.0)
    most = 0
    while (step := one.next_step()) is not None:
        if isinstance(step, EncodeStep):
            encode_all(one, step)
        held = sum(media.num_tokens for waiting in one.ready for media in waiting.request.media)
        most = max(most, held)
    assert most == 30  # two rounds, and the one that passed the limit


def features_request(id_: int, image: Media) -> Request:
    return engine_request(id_, [0] * image.num_tokens, image, ask=FeaturesAsk(dtype="float32", width=8))


def answered(one: Scheduler[str]) -> int:
    step = one.next_step()
    assert isinstance(step, FeaturesStep)
    return step.waiting.request.id


def test_features_are_answered_without_a_forward_and_shared_with_vectors() -> None:
    one = scheduler()
    one.add(features_request(1, media("a")), 0.0)
    assert one.add(request(2, 20, media("a", start=7)), 0.0) == [7]
    encode_all(one, one.next_step())
    step = one.next_step()
    assert isinstance(step, FeaturesStep)
    assert (step.waiting.features, step.waiting.num_hits, step.waiting.num_misses) == (["features of a"], 0, 1)
    assert ids(one.next_step()) == [2]
    one.add(features_request(3, media("a", start=None)), 0.0)  # from the cache
    assert answered(one) == 3
    assert one.next_step() is None


def test_features_that_were_sent_are_neither_hit_nor_miss() -> None:
    one = scheduler()
    one.add(request(1, 20, media("f", dtype="float16"), media("a", start=1)), 0.0)
    one.add(request(2, 20, media("f", start=2, dtype="float16")), 0.0)
    encode_all(one, one.next_step())
    one.add(request(3, 20, media("f", start=3, dtype="float16")), 0.0)
    batch = {waiting.request.id: waiting for waiting in one.next_step().batch}
    counts = {id_: (waiting.num_hits, waiting.num_misses) for id_, waiting in batch.items()}
    assert counts == {1: (0, 1), 2: (0, 0), 3: (0, 0)}
    assert batch[3].features == ["features of f"]  # read once, kept as all features are


def test_answers_of_features_take_turns_with_model_steps() -> None:
    one = scheduler(max_batch_requests=1)
    one.cache.put(b"a", "features of a", 1)
    for id_ in range(3):
        one.add(features_request(id_, media("a", start=None)), 0.0)
        one.add(request(10 + id_, 5), 0.0)
    kinds = [type(one.next_step()).__name__ for _ in range(6)]
    assert kinds == ["FeaturesStep", "ForwardStep"] * 3
    assert one.next_step() is None


def test_features_to_answer_do_not_pile_up_while_images_are_encoded() -> None:
    """An encode round gives many features at once; they leave before more rounds are run."""
    one = scheduler(max_encoder_tokens=100)
    for id_ in range(100):
        one.add(features_request(id_, media(str(id_), start=id_)), 0.0)
    held, most, num_answered = 0, 0, 0
    while (step := one.next_step()) is not None:
        if isinstance(step, EncodeStep):
            encode_all(one, step)
            held += 10 * len(step.encodes)
        else:
            held -= 10
            num_answered += 1
        most = max(most, held)
    assert num_answered == 100
    assert most <= 300  # two rounds, and the one that passed the limit


def test_abandoned_features_are_forgotten() -> None:
    one = scheduler()
    one.cache.put(b"a", "features of a", 1)
    one.add(features_request(1, media("a", start=None)), 0.0)
    one.add(features_request(2, media("b", start=5)), 0.0)
    assert one.abandon([1, 2]) == [5]
    assert one.next_step() is None


def of(tenant: str, id_: int, num_tokens: int = 10, *images: Media, deadline_s: float = math.inf) -> Request:
    plain = request(id_, num_tokens, *images)
    return msgspec.structs.replace(plain, tenant=tenant, deadline_s=deadline_s)


def test_a_short_request_waits_for_one_step_of_long_ones_and_long_ones_do_not_starve() -> None:
    one = scheduler()
    for id_ in range(4):
        one.add(request(id_, 80), 0.0)
    assert ids(one.next_step()) == [0]
    one.add(request(10, 5), 0.0)
    assert ids(one.next_step()) == [10]  # alone: its step is over at once
    for id_ in range(11, 31):
        one.add(request(id_, 5), 0.0)
    assert ids(one.next_step()) == [1, 11, 12, 13, 14]  # short ones fill what a long one leaves
    assert ids(one.next_step()) == [15, 16, 17, 18, 19, 20, 21, 22]
    assert ids(one.next_step()) == [2, 23, 24, 25, 26]


def test_tenants_share_forwards_however_much_one_has_queued() -> None:
    one = scheduler(max_batch_requests=4)
    for id_ in range(100):
        one.add(of("greedy", id_), 0.0)
    one.add(of("modest", 200), 0.0)
    one.add(of("other", 300), 0.0)
    assert {200, 300} <= set(ids(one.next_step()))


def test_tenants_share_encode_steps_too() -> None:
    one = scheduler(max_encoder_tokens=10)
    for id_ in range(20):
        one.add(of("greedy", id_, 5, media(f"g{id_}", start=id_)), 0.0)
    one.add(of("modest", 100, 5, media("m", start=99)), 0.0)
    taken = []
    while b"m" not in taken:
        step = one.next_step()
        if isinstance(step, EncodeStep):
            taken += keys(step)
            encode_all(one, step)
    assert len(taken) <= 2


def test_the_expired_are_dropped_before_they_cost_a_step_and_their_pixels_given_back() -> None:
    one = scheduler()
    one.add(of("", 1, 5, deadline_s=7.0), 0.0)
    one.add(of("", 2, 5, media("a", start=11), deadline_s=7.0), 0.0)
    one.add(of("", 3, 5, media("b", start=22), deadline_s=7.0), 0.0)
    one.add(of("", 4, 5, media("b", start=33), deadline_s=9.0), 0.0)
    one.add(of("", 5, 5), 0.0)
    assert one.expire(6.9) == []
    assert one.expire(7.0) == [11]
    assert keys(one.next_step()) == [b"b"]  # the fourth still waits for it
    assert ids(one.next_step()) == [5]
    assert one.expire(9.0) == [22]
    assert one.next_step() is None


def test_a_step_waits_for_those_on_their_way_unless_it_is_full_or_images_are_to_be_encoded() -> None:
    one = scheduler()
    assert one.gather_s(0.0) == 0
    one.batch_delay.ended(num_answered=6, num_left=0, seconds=0.08, now_s=0.0)
    assert one.gather_s(0.001) == 0  # with nothing to run there is nothing to delay
    one.add(request(1), 0.0)
    assert one.gather_s(0.001) > 0
    one.add(request(2, 10, media("a")), 0.0)
    assert one.gather_s(0.001) == 0
    encode_all(one, one.next_step())
    assert one.gather_s(0.001) > 0
    one.add(request(3, 80), 0.0)
    assert one.gather_s(0.001) == 0


def test_a_few_candidates_pass_a_thousand_of_the_same_tenant_and_their_images_too() -> None:
    one = scheduler()
    many, few = Bundle(1, 100, 10_000), Bundle(2, 5, 10)
    for id_ in range(100, 1100):
        one.add(request_of(id_, 10, bundle=many), 0.0)
    assert ids(one.next_step()) == list(range(100, 108))
    one.add(request_of(5, 10, bundle=few), 0.0)
    assert ids(one.next_step()) == [5]
    assert ids(one.next_step()) == list(range(108, 116))
    assert ids(one.next_step()) == list(range(116, 124))
    one.add(request_of(6, 10, bundle=few), 0.0)
    assert ids(one.next_step()) == [6]  # the many have had their turn


def test_the_pages_of_a_few_candidates_pass_those_of_a_thousand() -> None:
    one = scheduler(max_encoder_tokens=4)
    for id_ in range(100, 120):
        page = media(f"page {id_}", start=64 * id_)
        one.add(request_of(id_, 10, page, bundle=Bundle(1, 100, 200)), 0.0)
    one.add(request_of(5, 10, media("a", start=0), bundle=Bundle(2, 5, 10)), 0.0)
    assert b"a" in keys(one.next_step())


def request_of(id_: int, num_tokens: int, *images: Media, **options: Any) -> Request:
    return engine_request(id_, [id_] * num_tokens, *images, **options)
