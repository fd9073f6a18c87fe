"""The cache's promises: never above its caps, what is worth most stays, a miss is never an error. Features are strings
or numbers here, and the host's memory is a counter, so that every byte in it can be seen at every moment."""

import random
from typing import Any

import pytest

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.encoder_cache.tier import encode_cost
from tests.bench.cache_policies import TRACES, both

PAGE = 10


class CountedMemory:
    """Host memory in pages of ten bytes that breaks when more is in it than may be, even for a moment.

    Attributes:
        num_bytes: what is in it now.
        num_moves: copies down and up.
    """

    def __init__(self, max_bytes: int, *, room: int | None = None) -> None:
        self.max_bytes = max_bytes
        self.room = max_bytes if room is None else room
        self.num_bytes = 0
        self.num_moves = 0
        self.live: set[int] = set()

    def num_bytes_of(self, num_bytes: int) -> int:
        return -(-num_bytes // PAGE) * PAGE

    def store(self, features: tuple[Any, int]) -> Any | None:
        num_bytes = self.num_bytes_of(features[1])
        if self.num_bytes + num_bytes > self.room:
            assert self.room < self.max_bytes, "the tier made too little room"
            return None
        stored = [features, num_bytes]
        self.num_bytes += num_bytes
        self.num_moves += 1
        self.live.add(id(stored))
        return stored

    def load(self, stored: Any) -> tuple[Any, int]:
        assert id(stored) in self.live, "features were read after they were given back"
        self.num_moves += 1
        features: tuple[Any, int] = stored[0]
        return features

    def free(self, stored: Any) -> None:
        self.live.remove(id(stored))
        self.num_bytes -= stored[1]


def two_tiers(max_bytes: int, max_host_bytes: int, **more: Any) -> tuple[EncoderCache[Any], CountedMemory]:
    memory = CountedMemory(max_host_bytes, room=more.pop("room", None))
    return EncoderCache(max_bytes, host_memory=memory, max_host_bytes=max_host_bytes, **more), memory


def put(cache: EncoderCache[Any], name: str, num_bytes: int = 10, **more: Any) -> bool:
    return cache.put(name.encode(), (name, num_bytes), num_bytes, **more)


def full(max_host_bytes: int = 0, **more: Any) -> tuple[EncoderCache[Any], CountedMemory]:
    """A cache with room for a, b and c, which are in it."""
    cache, memory = two_tiers(30, max_host_bytes)
    assert [put(cache, name, **more) for name in "abc"] == [True] * 3
    return cache, memory


def has(cache: EncoderCache[Any], *names: str) -> list[bool]:
    return [name.encode() in cache for name in names]


def test_a_full_cache_lets_in_what_is_seen_for_the_second_time_and_not_what_is_seen_once() -> None:
    cache, _ = full()
    assert (cache.device.num_bytes, len(cache.device.entries), cache.device.num_evictions) == (30, 3, 0)
    assert not put(cache, "new")
    assert (has(cache, *"abc"), cache.device.num_rejected) == ([True] * 3, 1)
    assert cache.get(b"new") is None
    assert put(cache, "new")
    assert has(cache, "a", "b", "c", "new") == [False, True, True, True]  # of equals the oldest goes


def test_what_many_wait_for_is_let_in_at_once_and_what_is_dear_to_make_over_what_is_cheap() -> None:
    assert put(full()[0], "wanted", num_uses=8)
    cache, _ = full(cost=1.0)
    assert not put(cache, "no dearer", cost=1.5)
    assert put(cache, "dear", cost=2.0)


def test_what_is_used_stays() -> None:
    cache, _ = full()
    for _ in range(3):
        assert cache.get(b"a") == ("a", 10)
    for _ in range(2):
        put(cache, "d")
        put(cache, "e")
    assert has(cache, *"abcde") == [True, False, False, True, True]


def test_what_was_popular_once_can_be_overtaken() -> None:
    cache, _ = two_tiers(100, 0)
    for name in range(10):
        put(cache, f"old {name}", num_uses=8)
    for _ in range(20):
        for name in range(10):
            if cache.get(f"new {name}".encode()) is None:
                put(cache, f"new {name}")
    assert sum(has(cache, *(f"new {name}" for name in range(10)))) >= 8


def test_one_large_image_does_not_push_out_many_that_are_worth_more_together() -> None:
    cache, _ = two_tiers(100, 0)
    for name in range(10):
        put(cache, str(name), num_uses=2)
    assert not put(cache, "large", 100, num_uses=2)
    assert len(cache.device.entries) == 10
    assert put(cache, "large", 100, num_uses=4)
    assert len(cache.device.entries) == 1


@pytest.mark.parametrize("max_bytes", [30, 0])
def test_what_is_larger_than_the_cap_is_not_let_in_and_pushes_nothing_out(max_bytes: int) -> None:
    cache, _ = two_tiers(max_bytes, 0)
    assert put(cache, "a") is (max_bytes > 0)
    assert [put(cache, "b", 31) for _ in range(5)] == [False] * 5
    assert has(cache, "a", "b") == [max_bytes > 0, False]


def test_the_same_key_again_is_weighed_once() -> None:
    cache, memory = two_tiers(30, 30)
    put(cache, "a", 20)
    put(cache, "a", 25)
    assert (cache.get(b"a"), cache.device.num_bytes, cache.device.num_evictions) == (("a", 25), 25, 0)
    assert memory.num_bytes == 0


def test_what_leaves_the_device_is_copied_to_the_host_and_comes_back() -> None:
    cache, memory = full(30)
    put(cache, "d", num_uses=2)
    assert (b"a" in cache.device.entries, b"a" in cache.host.entries, memory.num_bytes) == (False, True, 10)
    assert cache.get(b"a") == ("a", 10)  # two uses now: worth more than what has one
    assert (b"a" in cache.device.entries, b"a" in cache.host.entries, memory.num_bytes) == (True, False, 10)
    reports = {tier.tier: tier for tier in cache.report().tiers}
    assert (reports["device"].num_hits, reports["device"].num_misses, reports["device"].num_evictions) == (0, 1, 2)
    assert (reports["host"].num_hits, reports["host"].num_entries, reports["host"].num_bytes) == (1, 1, 10)


def test_what_is_not_worth_the_device_stays_on_the_host_and_is_a_hit_all_the_same() -> None:
    cache, memory = full(30, num_uses=8)
    put(cache, "d")
    for _ in range(3):
        assert cache.get(b"d") == ("d", 10)
    assert (b"d" in cache.device.entries, b"d" in cache.host.entries, memory.num_bytes) == (False, True, 10)


def test_without_host_memory_there_is_one_tier_and_a_miss_asks_no_other() -> None:
    cache: EncoderCache[str] = EncoderCache(30, max_host_bytes=1000)
    assert cache.host.max_bytes == 0
    assert cache.get(b"a") is None
    assert cache.host.num_misses == 0
    assert [tier.tier for tier in cache.report().tiers] == ["device"]


def test_a_host_that_has_less_memory_than_its_cap_costs_hits_and_nothing_else() -> None:
    cache, memory = two_tiers(30, 100, room=20)
    for number in range(50):
        put(cache, str(number), num_uses=2)
        assert cache.host.num_bytes == memory.num_bytes <= 20


def test_letting_go_of_the_device_keeps_what_the_host_has() -> None:
    cache, memory = full(30, num_uses=2)
    put(cache, "d", num_uses=2)
    cache.clear()
    assert (len(cache.device.entries), cache.device.num_bytes) == (0, 0)
    assert (len(cache.host.entries), memory.num_bytes) == (1, 10)


def test_a_tenant_pushes_out_its_own_once_it_has_its_share() -> None:
    cache, _ = two_tiers(100, 0, tenant_share=0.5)
    for number in range(4):
        put(cache, f"m{number}", tenant="modest")
    for number in range(1000):
        put(cache, f"g{number}", tenant="greedy", num_uses=8)
        assert cache.device.num_bytes <= 90
        assert cache.device.tenant_bytes["greedy"] <= 50
    assert has(cache, *(f"m{number}" for number in range(4))) == [True] * 4
    assert not put(cache, "large", 51, tenant="greedy")
    assert put(cache, "large", 50, tenant="modest", num_uses=8)


def test_those_without_a_name_are_everybody_and_may_fill_it() -> None:
    cache, _ = two_tiers(100, 0, tenant_share=0.1)
    assert [put(cache, str(number)) for number in range(10)] == [True] * 10


@pytest.mark.parametrize("host_bytes", [0, 700])
def test_caps_and_shares_hold_at_every_moment_whatever_is_asked_for(host_bytes: int) -> None:
    draw = random.Random(5)
    cache, memory = two_tiers(1000, host_bytes, tenant_share=0.4)
    for turn in range(20_000):
        number = draw.randrange(300)
        tenant, size = "abc"[number % 3], 1 + number * 7 % 500
        found = cache.get(b"%d" % number)
        if found is None:
            cache.put(
                b"%d" % number, (number, size), size, tenant, cost=encode_cost(size), num_uses=draw.choice((1, 5))
            )
        else:
            assert found == (number, size)
        if turn % 5000 == 4999:
            cache.clear()
        for tier, most in ((cache.device, 1000), (cache.host, host_bytes)):
            held = list(tier.entries.values())
            assert sum(entry.num_bytes for entry in held) == tier.num_bytes <= most
            for tenant in "abc":
                of_tenant = sum(entry.num_bytes for entry in held if entry.tenant == tenant)
                assert of_tenant == tier.tenant_bytes[tenant] <= most * 0.4
        assert memory.num_bytes == cache.host.num_bytes
        assert len(memory.live) == len(cache.host.entries)
        assert not [key for key in cache.device.entries if key in cache.host.entries]
    assert cache.device.num_evictions > 100
    assert cache.device.num_rejected > 100
    assert host_bytes == 0 or cache.host.num_hits > 100


def test_nothing_that_is_kept_beside_the_features_grows_without_bound() -> None:
    cache, _ = two_tiers(1000, 0)
    for number in range(30_000):
        name = str(number % 20_000)
        if cache.get(name.encode()) is None:
            put(cache, name, 10, tenant=f"tenant {number % 500}")
    tier = cache.device
    assert len(cache._ghosts) <= 8192
    assert len(tier._heap._places) <= 2 * len(tier.entries) + 66
    assert len(tier._tenants) == len(tier.tenant_bytes) <= len(tier.entries)


@pytest.mark.parametrize("name", list(TRACES))
def test_it_saves_at_least_the_work_that_least_recently_used_saves(name: str) -> None:
    lru, ours = both(name)
    assert ours.cost >= lru.cost
