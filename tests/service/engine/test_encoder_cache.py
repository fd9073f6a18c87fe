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
