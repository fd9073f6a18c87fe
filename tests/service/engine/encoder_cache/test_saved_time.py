"""Seconds of the vision tower that the cache has saved, and the age of features when they are evicted."""

from types import SimpleNamespace
from typing import Any, cast

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.encoder_cache.tier import encode_cost
from service.engine.scheduling.scheduler import Scheduler
from service.engine.scheduling.waiting import EncodeStep
from service.engine.shared_tiers.look_ups import LookUps
from service.ipc.messages import Request
from service.ipc.reports import TierReport
from tests.builders import engine_request, media
from tests.service.engine.encoder_cache.test_cache import CountedMemory


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def request(id_: int, key: str, num_tokens: int = 100) -> Request:
    return engine_request(id_, [id_] * num_tokens, media(key, id_, num_tokens))


def scheduler(cache: EncoderCache[Any]) -> Scheduler[Any]:
    return Scheduler(cache, max_batch_tokens=10_000, max_batch_requests=10, max_encoder_tokens=10_000)


def encode(one: Scheduler[Any], seconds: float) -> None:
    step = one.next_step()
    assert isinstance(step, EncodeStep)
    for each in step.encodes:
        one.encoded(each, "features", 10, seconds)


def test_a_hit_saves_what_its_entry_took_to_make() -> None:
    cache: EncoderCache[Any] = EncoderCache(100)
    one = scheduler(cache)
    one.add(request(0, "slow"), 0.0)
    encode(one, 2.0)
    assert cache.report().saved_s == 0
    for id_ in (1, 2, 3):
        one.add(request(id_, "slow"), 0.0)
    assert cache.report().saved_s == 6.0


def test_who_waits_for_the_same_image_is_spared_it_too() -> None:
    cache: EncoderCache[Any] = EncoderCache(100)
    one = scheduler(cache)
    for id_ in range(4):
        one.add(request(id_, "same"), 0.0)
    encode(one, 0.5)
    assert cache.report().saved_s == 1.5


def test_features_from_a_shared_tier_are_worth_what_this_engine_would_have_taken() -> None:
    cache: EncoderCache[Any] = EncoderCache(1000)
    one = scheduler(cache)
    one.images.look_ups = cast(LookUps, SimpleNamespace(ask=lambda media: media.key != b"own"))
    one.add(request(0, "first"), 0.0)
    one.found(b"first", "features", 10)
    assert cache.report().saved_s == 0, "nothing has been measured yet"
    one.add(request(1, "own", 100), 0.0)
    encode(one, 1.0)
    one.add(request(2, "theirs", 200), 0.0)
    one.found(b"theirs", "features", 10)
    expected = encode_cost(200) / encode_cost(100)
    assert abs(cache.report().saved_s - expected) < 1e-9
    one.add(request(3, "theirs", 200), 0.0)
    assert abs(cache.report().saved_s - 2 * expected) < 1e-9


def test_time_goes_with_features_to_the_host_and_back() -> None:
    memory = CountedMemory(100)
    cache: EncoderCache[Any] = EncoderCache(10, host_memory=memory, max_host_bytes=100)
    cache.put(b"a", ("a", 10), 10, seconds=3.0)
    cache.put(b"b", ("b", 10), 10, seconds=5.0, num_uses=4)
    assert b"a" not in cache.device.entries
    assert cache.get(b"a") == ("a", 10)
    assert cache.report().saved_s == 3.0
    for _ in range(6):
        cache.get(b"a")
    assert cache.report().saved_s == 21.0


def ages(cache: EncoderCache[Any], tier: str) -> tuple[float, ...]:
    return next(report.evicted_after_s for report in cache.report().tiers if report.tier == tier)


def test_an_evicted_entrys_age_is_reported_once() -> None:
    clock = Clock()
    cache: EncoderCache[Any] = EncoderCache(20, clock=clock)
    cache.put(b"a", "a", 10)
    clock.now_s = 30.0
    cache.put(b"b", "b", 10)
    clock.now_s = 100.0
    cache.put(b"c", "c", 10, num_uses=8)
    assert ages(cache, "device") == (100.0,)
    assert ages(cache, "device") == ()
    clock.now_s = 130.0
    cache.clear()
    assert sorted(ages(cache, "device")) == [30.0, 100.0]


def test_what_a_shared_tier_reports_stays_beside_it() -> None:
    cache: EncoderCache[Any] = EncoderCache(20)
    assert cache.report(TierReport(tier="disk", num_hits=1)).tiers[-1].num_hits == 1
