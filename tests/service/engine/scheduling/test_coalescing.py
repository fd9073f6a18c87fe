"""One run for all who ask for the same prompt at once, and none for one whose vector is kept."""

import math
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.scheduling.result_cache import ResultCache
from service.engine.scheduling.scheduler import Scheduler
from service.engine.scheduling.waiting import EncodeStep, FeaturesStep, ForwardStep, Waiting
from service.engine.shared_tiers.look_ups import LookUps
from service.ipc.messages import Media, Request
from service.ipc.prompt_digest import prompt_digest
from service.outputs.dense import DenseAsk
from service.outputs.features import FeaturesAsk
from tests.builders import engine_request, media

VECTOR = b"raw vector"


def scheduler(result_bytes: int = 0) -> Scheduler[str]:
    results = ResultCache(result_bytes)
    limits = {"max_batch_tokens": 100, "max_batch_requests": 8, "max_encoder_tokens": 50}
    return Scheduler(EncoderCache(1000), results, **limits)


def request(id_: int, *images: Media, token: int = 5, num_tokens: int = 10, **more: Any) -> Request:
    return engine_request(id_, [token] * num_tokens, *images, **more)


def add(one: Scheduler[str], *requests: Request) -> list[int]:
    return [start for asked in requests for start in one.add(asked, 0.0)]


def batch(one: Scheduler[str]) -> list[Waiting[str]]:
    """The prompts of the next step, which is a forward."""
    step = one.next_step()
    assert isinstance(step, ForwardStep)
    return step.batch


def ran(one: Scheduler[str]) -> list[list[int]]:
    """Ids of the next batch, prompt by prompt."""
    return [[each.request.id for each in waiting.group] for waiting in batch(one)]


def encode_all(one: Scheduler[str]) -> None:
    step = one.next_step()
    assert isinstance(step, EncodeStep)
    for encode in step.encodes:
        one.encoded(encode, "features", 10)


def counts(one: Scheduler[str]) -> tuple[int, int, int]:
    report = one.coalescing.report()
    return report.num_hits, report.num_misses, report.num_deduplicated


def test_one_prompt_runs_once_whatever_is_made_of_its_vector_and_costs_its_tokens_once() -> None:
    one = scheduler()
    asks = [DenseAsk(dimensions=8), DenseAsk(dimensions=4), DenseAsk(dimensions=8, output_dtypes=("int8",))]
    add(one, *[request(i, num_tokens=60, ask=ask) for i, ask in enumerate(asks)])
    add(one, request(9, token=6, num_tokens=40))
    assert ran(one) == [[0, 1, 2], [9]]  # four requests, 100 tokens of the 100 that a step may have
    assert one.next_step() is None
    assert counts(one) == (0, 0, 2)


def test_who_comes_when_the_prompt_runs_already_runs_it_again_without_a_result_cache() -> None:
    one = scheduler()
    add(one, request(1))
    assert ran(one) == [[1]]
    add(one, request(2))
    assert ran(one) == [[2]]


@pytest.mark.parametrize(
    "other",
    [
        request(2, token=6),
        request(2, tenant="acme"),
        request(2, media("a", start=None)),
        request(2, ask=FeaturesAsk(dtype="float32", width=8)),
        request(2, alone=True),
        request(2, is_fresh=True),
    ],
    ids=["tokens", "tenant", "image", "features", "suspect", "fresh"],
)
def test_nobody_joins_a_run_that_is_not_his(other: Request) -> None:
    for first, second in ((request(1), other), (other, request(1))):
        one = scheduler()
        one.cache.put(b"a", "features", 10)
        add(one, first, second)
        alone: list[list[int]] = []
        while (step := one.next_step()) is not None:
            if isinstance(step, ForwardStep):
                alone += [[each.request.id for each in waiting.group] for waiting in step.batch]
            else:
                assert isinstance(step, FeaturesStep)
                alone.append([step.waiting.request.id])
        assert sorted(alone) == [[1], [2]]


def test_who_joins_a_prompt_that_waits_for_its_image_waits_with_it() -> None:
    one = scheduler()
    assert add(one, request(1, media("a", 11)), request(2, media("a", 22)), request(3, media("a", None))) == [22]
    encode_all(one)
    (waiting,) = batch(one)
    assert waiting.features == ["features"]
    assert [(each.num_hits, each.num_misses) for each in waiting.group] == [(0, 1), (1, 0), (1, 0)]


def test_a_coalesced_request_may_bring_the_pixels_that_the_first_one_lacks() -> None:
    one = scheduler()
    assert add(one, request(1, media("a", None)), request(2, media("a", 7))) == []
    encode_all(one)
    assert ran(one) == [[1, 2]]


def test_when_the_first_one_leaves_the_next_stands_in_his_place() -> None:
    one = scheduler()
    add(one, request(1, media("a", 11)), request(2, media("a", 22)), request(3, media("a", 33)))
    assert one.abandon([1]) == []  # its pixels are needed
    encode_all(one)
    assert one.abandon([2]) == []
    add(one, request(4, media("a", 44)))  # features are cached, and still one run
    (waiting,) = batch(one)
    assert [each.request.id for each in waiting.group] == [3, 4]
    assert waiting.features == ["features"]


def test_who_takes_the_first_ones_place_counts_an_image_once() -> None:
    one = scheduler()
    one.images.look_ups = cast(LookUps, SimpleNamespace(ask=lambda _: True))
    add(one, request(1, media("a", 11)), request(2, media("a", 22)))
    one.abandon([1])
    one.found(b"a", "features", 1)
    (waiting,) = batch(one)
    assert (waiting.request.id, waiting.num_hits, waiting.num_misses) == (2, 1, 0)


def test_a_prompt_that_everybody_has_left_is_not_run_and_can_come_again() -> None:
    one = scheduler()
    add(one, request(1, media("a", 11)), request(2, media("a", 22)), request(3, token=6), request(4, token=6))
    assert one.abandon([2, 1]) == [11]
    assert one.abandon([3, 4]) == []
    assert one.next_step() is None
    add(one, request(5, token=6))
    assert ran(one) == [[5]]


def test_each_expires_at_his_own_time() -> None:
    one = scheduler()
    add(one, request(1, deadline_s=5.0), request(2, deadline_s=math.inf), request(3, deadline_s=7.0))
    one.expire(5.0)
    one.expire(6.9)
    assert [waiting.request.id for waiting in one.ready] == [2]
    one.expire(7.0)
    assert ran(one) == [[2]]


def test_an_image_that_fails_fails_all_who_wait_and_nobody_else() -> None:
    one = scheduler()
    add(one, request(1, media("bad", 1)), request(2, media("bad", 2)), request(3))
    step = one.next_step()
    assert isinstance(step, EncodeStep)
    (bad,) = step.encodes
    failed, released = one.encode_failed(bad)
    assert ([waiting.request.id for waiting in failed], released) == ([1, 2], [1])
    assert ran(one) == [[3]]
    add(one, request(4, media("bad", 4)))
    assert isinstance(one.next_step(), EncodeStep)  # not coalesced with those who have gone


def test_a_kept_vector_needs_neither_queue_nor_image_and_its_pixels_come_back() -> None:
    one = scheduler(1 << 20)
    first = request(1, media("a", 11), media("b", 12))
    add(one, first)
    encode_all(one)
    one.coalescing.keep(*batch(one), VECTOR)
    one.cache.clear()
    assert counts(one) == (0, 1, 0)

    assert add(one, request(2, media("a", 21), media("b", 22), ask=DenseAsk(dimensions=2))) == [21, 22]
    assert list(one.images.ask_for_pixels()) == []
    assert one.next_step() is None
    ((known, vector),) = one.coalescing.take_kept(8)
    assert (known.request.id, known.num_hits, known.num_misses, vector) == (2, 2, 0, VECTOR)
    assert one.coalescing.take_kept(8) == []
    assert counts(one) == (1, 0, 0)


def test_pixels_of_a_known_prompt_go_to_another_who_lacks_them() -> None:
    one = scheduler(1 << 20)
    one.coalescing.results.put(prompt_digest(request(0, media("a"))), VECTOR)
    add(one, request(1, media("a", None), token=6))
    assert add(one, request(2, media("a", 7))) == []
    encode_all(one)
    assert ran(one) == [[1]]


def test_known_prompts_are_answered_in_order_and_not_too_many_at_once() -> None:
    one = scheduler(1 << 20)
    one.coalescing.results.put(prompt_digest(request(0)), VECTOR)
    add(one, *[request(i) for i in range(5)])
    taken = [[waiting.request.id for waiting, _ in one.coalescing.take_kept(2)] for _ in range(4)]
    assert taken == [[0, 1], [2, 3], [4], []]


def test_what_is_kept_belongs_to_its_tenant_and_what_must_be_fresh_is_run() -> None:
    one = scheduler(1 << 20)
    add(one, request(1, tenant="acme"))
    one.coalescing.keep(*batch(one), VECTOR)
    add(one, request(2), request(3, tenant="other"), request(4, tenant="acme", is_fresh=True))
    assert sorted(ran(one)) == [[2], [3], [4]]
    add(one, request(5, tenant="acme", alone=True))  # the engine has survived it
    assert [waiting.request.id for waiting, _ in one.coalescing.take_kept(8)] == [5]


def test_a_vector_of_a_fresh_run_is_not_kept() -> None:
    one = scheduler(1 << 20)
    fresh: Waiting[str] = Waiting(msgspec.structs.replace(request(1), is_fresh=True), 0.0, [])
    one.coalescing.spares(fresh)
    one.coalescing.keep(fresh, VECTOR)
    assert len(one.coalescing.results.vectors) == 0
