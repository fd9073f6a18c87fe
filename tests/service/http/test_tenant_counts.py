"""However many tenants there are: the loud ones have series of their own, the rest share one, and no count falls."""

import random

from prometheus_client import CollectorRegistry, generate_latest

from service.accounting import MAX_NAMED, OTHER, TenantCounts


def shown(counts: TenantCounts, what: str = "inputs") -> dict[str, float]:
    (family,) = (one for one in counts.collect() if one.name == f"cenote_tenant_{what}")
    return {sample.labels["tenant"]: sample.value for sample in family.samples}


def test_few_tenants_have_each_their_own_series() -> None:
    counts = TenantCounts()
    counts.count("a", inputs=3, tokens=30)
    counts.count("a", requests=1)
    counts.count("b", requests=1, errors=1)
    assert shown(counts) == {"a": 3, "b": 0, OTHER: 0}
    assert (shown(counts, "tokens")["a"], shown(counts, "requests")["b"], shown(counts, "errors")["b"]) == (30, 1, 1)
    registry = CollectorRegistry()
    registry.register(counts)
    assert b'cenote_tenant_errors_total{tenant="b"} 1.0' in generate_latest(registry)


def test_ten_thousand_tenants_make_no_more_series_than_the_bound() -> None:
    counts = TenantCounts()
    for number in range(10_000):
        counts.count(f"t{number}", inputs=1, tokens=1)
        counts.count(f"t{number}", requests=1)
    for what in ("requests", "inputs", "tokens", "errors"):
        assert len(shown(counts, what)) == MAX_NAMED + 1
    assert shown(counts)[OTHER] == 10_000 - MAX_NAMED


def test_who_comes_late_and_is_loud_gets_a_name() -> None:
    counts = TenantCounts()
    for number in range(10 * MAX_NAMED):
        counts.count(f"t{number}", inputs=10, tokens=10)
    for _ in range(100):
        counts.count("late", inputs=10, tokens=10)
    assert shown(counts)["late"] == 1000
    assert len(shown(counts)) == MAX_NAMED + 1


def test_who_is_refused_all_the_time_gets_a_name_too() -> None:
    counts = TenantCounts()
    for number in range(MAX_NAMED):
        counts.count(f"t{number}", inputs=10, tokens=10)
    for _ in range(100):
        counts.count("refused", requests=1, errors=1)
    assert shown(counts, "errors")["refused"] == 100


def test_equals_do_not_take_turns() -> None:
    counts = TenantCounts()
    names = [f"t{number}" for number in range(MAX_NAMED + 1)]
    num_changes, before = 0, set[str]()
    for _ in range(5_000):
        for name in names:
            counts.count(name, inputs=1, tokens=1)
        num_changes += bool(before) and shown(counts).keys() != before
        before = set(shown(counts))
    assert num_changes == 0


def test_no_series_ever_falls_however_names_come_and_go() -> None:
    counts, dice, last = TenantCounts(), random.Random(3), dict[str, float]()
    for step in range(20_000):
        counts.count(f"t{int(dice.paretovariate(0.4)) % 500 + step // 50 * 7}", inputs=dice.randint(1, 50), tokens=1)
        if step % 20 == 0:
            now = shown(counts)
            assert all(now[name] >= value for name, value in last.items() if name in now)
            last |= now


def test_a_tenant_that_is_called_other_is_one_of_them() -> None:
    counts = TenantCounts()
    counts.count(OTHER, inputs=5, tokens=5)
    counts.count("a", inputs=1, tokens=1)
    assert shown(counts) == {"a": 1, OTHER: 5}
