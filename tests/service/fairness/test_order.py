"""The order: tenants share evenly, requests of a tenant share that, and what is small passes what is large."""

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from service.fairness.order import FairOrder
from service.fairness.party import Party


@dataclass
class Work:
    """A piece of work, and whether somebody waits for it."""

    name: str
    turn: Any = field(default_factory=lambda: SimpleNamespace(cancelled=lambda: False))


def add(order: FairOrder[Work], party: Party, cost: int, name: str) -> None:
    order.add(party, cost, Work(name))


def drained(order: FairOrder[Work]) -> list[str]:
    """All that waits, in its order."""
    names = []
    while (entry := order.peek()) is not None:
        names.append(order.take(entry).name)
    return names


def test_tenants_share_evenly_however_much_each_has_waiting() -> None:
    order = FairOrder[Work]()
    for i in range(100):
        add(order, Party("many", i), 10, "many")
    for i in range(10):
        add(order, Party("few", 1000 + i), 10, "few")
    first = Counter(drained(order)[:20])
    assert first == {"many": 10, "few": 10}


def test_shares_are_by_cost_and_not_by_number() -> None:
    order = FairOrder[Work]()
    for i in range(40):
        add(order, Party("large", i), 30, "large")
        add(order, Party("small", 100 + i), 10, "small")
    first = Counter(drained(order)[:40])
    assert abs(first["small"] - 3 * first["large"]) <= 3


def test_requests_of_one_tenant_share_what_it_has() -> None:
    order = FairOrder[Work]()
    for _ in range(100):
        add(order, Party("", 1), 10, "one")
    for _ in range(5):
        add(order, Party("", 2), 10, "other")
    assert Counter(drained(order)[:10]) == {"one": 5, "other": 5}


def test_a_request_pays_afterwards_with_what_it_has_waiting_and_another_of_its_tenant_does_not() -> None:
    order = FairOrder[Work]()
    for number in range(10):
        add(order, Party("", 1), 10, f"flood {number}")
    first = order.peek()
    assert first is not None
    order.take(first)
    order.charge(Party("", 1), 5000)
    add(order, Party("", 2), 10, "other")
    assert "other" in drained(order)[:2]


def test_what_is_small_passes_what_is_large() -> None:
    order = FairOrder[Work]()
    for i in range(50):
        add(order, Party("", i), 1000, f"large {i}")
    taken = [order.take(entry).name for _ in range(3) if (entry := order.peek())]
    add(order, Party("", 99), 1, "small")
    assert taken == ["large 0", "large 1", "large 2"]
    assert drained(order)[0] == "small"


def test_nobody_waits_for_ever_behind_small_ones_that_keep_coming() -> None:
    order = FairOrder[Work]()
    add(order, Party("", 0), 1000, "large")
    for i in range(1, 3000):
        add(order, Party("", i), 10, "small")
        entry = order.peek()
        assert entry is not None
        if order.take(entry).name == "large":
            break
    assert 90 < i < 220


def test_who_comes_back_after_a_pause_has_neither_saved_up_nor_owes() -> None:
    order = FairOrder[Work]()
    for i in range(20):
        add(order, Party("busy", i), 10, "busy")
    assert len(drained(order)) == 20
    for i in range(10):
        add(order, Party("busy", i), 10, "busy")
        add(order, Party("idle until now", i), 10, "idle until now")
    assert Counter(drained(order)[:10]) == {"busy": 5, "idle until now": 5}


def test_those_who_may_not_are_passed_over_and_those_who_have_gone_forgotten() -> None:
    order = FairOrder[Work]()
    add(order, Party("a", 1), 1, "a")
    add(order, Party("b", 2), 5, "b")
    order.add(Party("c", 3), 1, Work("gone", SimpleNamespace(cancelled=lambda: True)))
    entry = order.peek(without={"a"})
    assert entry is not None
    assert order.take(entry).name == "b"
    assert drained(order) == ["a"]
    assert order.peek() is None


def test_what_turns_out_to_cost_more_is_owed_also_after_a_pause() -> None:
    order = FairOrder[Work]()
    add(order, Party("other", 0), 1000, "other")
    add(order, Party("costly", 1), 10, "costly")
    entry = order.peek()
    assert entry is not None
    assert order.take(entry).name == "costly"
    order.charge(Party("costly", 1), 900)
    for i in range(10):
        add(order, Party("costly", 2 + i), 10, "costly")
        add(order, Party("modest", 20 + i), 10, "modest")
    assert Counter(drained(order)[:6]) == {"modest": 6}


def test_capacity_that_nobody_else_wanted_is_not_owed() -> None:
    order = FairOrder[Work]()
    order.charge(Party("busy", 1), 1000)
    for i in range(4):
        add(order, Party("busy", i), 10, "busy")
        add(order, Party("idle until now", i), 10, "idle until now")
    assert Counter(drained(order)[:4]) == {"busy": 2, "idle until now": 2}
