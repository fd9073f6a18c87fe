"""The cache's one promise: never above its cap. Features are strings here."""

import random

from service.engine.encoder_cache import EncoderCache


def test_the_least_recently_used_goes_first() -> None:
    cache: EncoderCache[str] = EncoderCache(30)
    for name in "abc":
        assert cache.put(name.encode(), name, 10)
    assert cache.get(b"a") == "a"
    cache.put(b"d", "d", 10)
    assert cache.get(b"b") is None
    assert [cache.get(key) for key in (b"a", b"c", b"d")] == ["a", "c", "d"]
    assert (cache.num_evictions, cache.num_bytes, len(cache)) == (1, 30, 3)


def test_what_is_larger_than_the_cap_is_not_admitted_and_pushes_nothing_out() -> None:
    cache: EncoderCache[str] = EncoderCache(30)
    cache.put(b"a", "a", 10)
    assert not cache.put(b"b", "b", 31)
    assert b"a" in cache
    assert b"b" not in cache


def test_a_cap_of_zero_keeps_nothing() -> None:
    cache: EncoderCache[str] = EncoderCache(0)
    assert not cache.put(b"a", "a", 1)
    assert cache.get(b"a") is None


def test_the_same_key_again_is_weighed_once() -> None:
    cache: EncoderCache[str] = EncoderCache(30)
    cache.put(b"a", "old", 20)
    cache.put(b"a", "new", 25)
    assert (cache.get(b"a"), cache.num_bytes, cache.num_evictions) == ("new", 25, 0)


def test_the_cap_holds_under_ten_thousand_random_puts() -> None:
    cache: EncoderCache[int] = EncoderCache(1000)
    rnd = random.Random(7)
    weights: dict[bytes, int] = {}
    for turn in range(10_000):
        key, num_bytes = str(rnd.randrange(200)).encode(), rnd.choice([1, 10, 100, 999, 1001])
        if cache.put(key, turn, num_bytes):
            weights[key] = num_bytes
        assert cache.num_bytes <= 1000
        assert cache.num_bytes == sum(num for key, num in weights.items() if key in cache)


def test_a_tenant_pushes_out_its_own_once_it_has_its_share() -> None:
    cache: EncoderCache[str] = EncoderCache(100, tenant_share=0.5)
    for number in range(4):
        cache.put(b"m%d" % number, "m", 10, "modest")
    for number in range(1000):
        assert cache.put(b"g%d" % number, "g", 10, "greedy")
        assert cache.num_bytes <= 90
    assert all(cache.get(b"m%d" % number) for number in range(4))
    assert [number for number in range(1000) if b"g%d" % number in cache] == [995, 996, 997, 998, 999]
    assert not cache.put(b"large", "g", 51, "greedy")
    assert cache.put(b"large", "m", 50, "modest")


def test_those_without_a_name_are_everybody_and_may_fill_it() -> None:
    cache: EncoderCache[str] = EncoderCache(100, tenant_share=0.1)
    for number in range(10):
        assert cache.put(b"%d" % number, "x", 10)
    assert len(cache) == 10


def test_shares_and_the_cap_hold_whatever_is_put() -> None:
    draw = random.Random(5)
    cache: EncoderCache[int] = EncoderCache(1000, tenant_share=0.4)
    for number in range(20_000):
        cache.put(b"%d" % draw.randrange(300), number, draw.randrange(1, 500), draw.choice("abc"))
        held = dict.fromkeys("abc", 0)
        for entry in cache._entries.values():
            held[entry.tenant] += entry.num_bytes
        assert max(held.values()) <= 400
        assert sum(held.values()) == cache.num_bytes <= 1000
