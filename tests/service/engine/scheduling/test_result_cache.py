"""Vectors of prompts: bounded in bytes, least recently used out first, a tenant's share its own."""

import random

from service.engine.scheduling.result_cache import ENTRY_BYTES, ResultCache

ONE = 8 + ENTRY_BYTES


def vector(number: int) -> bytes:
    return number.to_bytes(8, "big")


def test_the_least_recently_used_goes_first_and_the_cap_holds() -> None:
    cache = ResultCache(3 * ONE)
    for number in (1, 2, 3):
        cache.put(bytes([number]), vector(number))
    assert cache.get(b"\1") == vector(1)  # now 2 is the oldest
    cache.put(b"\4", vector(4))
    assert [cache.get(bytes([number])) for number in (1, 2, 3, 4)] == [vector(1), None, vector(3), vector(4)]
    assert (len(cache.vectors), cache.num_bytes, cache.num_evictions) == (3, 3 * ONE, 1)


def test_the_same_prompt_again_takes_no_more_room() -> None:
    cache = ResultCache(2 * ONE)
    cache.put(b"a", vector(1))
    cache.put(b"b", vector(2))
    cache.put(b"a", vector(3))
    assert (cache.get(b"a"), cache.get(b"b"), cache.num_bytes, cache.num_evictions) == (
        vector(3),
        vector(2),
        2 * ONE,
        0,
    )


def test_what_never_fits_is_not_kept_and_pushes_nothing_out() -> None:
    cache, off = ResultCache(2 * ONE), ResultCache(0)
    cache.put(b"a", vector(1))
    cache.put(b"b", bytes(2 * ONE))
    off.put(b"a", b"")
    assert (cache.get(b"a"), cache.get(b"b"), cache.num_evictions) == (vector(1), None, 0)
    assert (off.get(b"a"), len(off.vectors), off.is_on) == (None, 0, False)


def test_a_tenant_pushes_out_its_own_and_those_without_a_name_have_no_share() -> None:
    cache = ResultCache(4 * ONE, tenant_share=0.5)
    cache.put(b"other", vector(0), "modest")
    for number in range(9):
        cache.put(bytes([number]), vector(number), "greedy")
    assert cache.get(b"other") == vector(0)
    assert [number for number in range(9) if cache.get(bytes([number]))] == [7, 8]
    for number in range(9):
        cache.put(b"x" + bytes([number]), vector(number))
    assert len(cache.vectors) == 4


def test_its_sums_are_right_and_below_every_cap_whatever_comes() -> None:
    draw, cache = random.Random(0), ResultCache(20 * ONE, tenant_share=0.3)
    kept: dict[bytes, bytes] = {}
    for _ in range(5000):
        digest, tenant = bytes([draw.randrange(60)]), draw.choice(("", "a", "b", "c"))
        if draw.random() < 0.4:
            found = cache.get(tenant.encode() + digest)
            assert found in (None, kept.get(tenant.encode() + digest))
            continue
        kept[tenant.encode() + digest] = bytes(draw.randrange(0, 400))
        cache.put(tenant.encode() + digest, kept[tenant.encode() + digest], tenant)
        entries = [(key, value, owner) for key, (value, owner) in cache.vectors.items()]
        assert cache.num_bytes == sum(len(value) + ENTRY_BYTES for _, value, _ in entries) <= cache.max_bytes
        for name in "abc":
            own = sum(len(value) + ENTRY_BYTES for _, value, owner in entries if owner == name)
            assert own == cache._tenant_bytes.get(name, 0) <= cache.max_tenant_bytes
    assert cache.num_evictions > 100
