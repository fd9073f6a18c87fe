"""The order: tenants share evenly, requests of a tenant share that, and what is small passes what is large."""

from collections import Counter

from service.fairness.order import FairOrder
from service.fairness.party import Party


def drained(order: FairOrder[str]) -> list[str]:
    """All that waits, in its order."""
    names = []
    while (entry := order.peek()) is not None:
        names.append(order.take(entry))
    return names


def new_order() -> FairOrder[str]:
    return FairOrder(lambda name: name.startswith("gone"))


def test_tenants_share_evenly_however_much_each_has_waiting() -> None:
    order = new_order()
    for i in range(100):
        order.add(Party("many", i), 10, "many")
    for i in range(10):
        order.add(Party("few", 1000 + i), 10, "few")
    first = Counter(drained(order)[:20])
    assert first == {"many": 10, "few": 10}


def test_shares_are_by_cost_and_not_by_number() -> None:
    order = new_order()
    for i in range(40):
        order.add(Party("large", i), 30, "large")
        order.add(Party("small", 100 + i), 10, "small")
    first = Counter(drained(order)[:40])
    assert abs(first["small"] - 3 * first["large"]) <= 3


def test_requests_of_one_tenant_share_what_it_has() -> None:
    order = new_order()
    for _ in range(100):
        order.add(Party("", 1), 10, "one")
    for _ in range(5):
        order.add(Party("", 2), 10, "other")
    assert Counter(drained(order)[:10]) == {"one": 5, "other": 5}


def test_what_is_small_passes_what_is_large() -> None:
    order = new_order()
    for i in range(50):
        order.add(Party("", i), 1000, f"large {i}")
    taken = [order.take(entry) for _ in range(3) if (entry := order.peek())]
    order.add(Party("", 99), 1, "small")
    assert taken == ["large 0", "large 1", "large 2"]
    assert drained(order)[0] == "small"


def test_nobody_waits_for_ever_behind_small_ones_that_keep_coming() -> None:
    order = new_order()
    order.add(Party("", 0), 1000, "large")
    for i in range(1, 3000):
        order.add(Party("", i), 10, "small")
        entry = order.peek()
        assert entry is not None
        if order.take(entry) == "large":
            break
    assert 90 < i < 220


def test_who_comes_back_after_a_pause_has_neither_saved_up_nor_owes() -> None:
    order = new_order()
    for i in range(20):
        order.add(Party("busy", i), 10, "busy")
    assert len(drained(order)) == 20
    for i in range(10):
        order.add(Party("busy", i), 10, "busy")
        order.add(Party("idle until now", i), 10, "idle until now")
    assert Counter(drained(order)[:10]) == {"busy": 5, "idle until now": 5}


def test_those_who_may_not_are_passed_over_and_those_who_have_gone_forgotten() -> None:
    order = new_order()
    order.add(Party("a", 1), 1, "a")
    order.add(Party("b", 2), 5, "b")
    order.add(Party("c", 3), 1, "gone")
    entry = order.peek(lambda tenant: tenant != "a")
    assert entry is not None
    assert order.take(entry) == "b"
    assert drained(order) == ["a"]
    assert order.peek() is None
